#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Tests what the compiler says of every kernel in the framework's library: it is the only one that
// knows them, and a card refuses a launch that needs more than it has. Reads the device's images as
// the compiler embeds them; no tool of the toolkit is needed.

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Optional;

// Limits since compute capability 7.5; CUDA C++ Programming Guide, technical specifications.
// The toolkit since 12.1 passes so many bytes of arguments.
constexpr std::size_t kRegistersOfABlock = 65536, kMostThreads = 1024;
constexpr std::size_t kMostSharedBytes = 48 << 10, kMostArgumentBytes = 32764;

struct CompiledKernel {
  std::size_t registers = 0;  // of a thread
  std::size_t bound = 0;      // __launch_bounds__; 0: none
  std::size_t shared_bytes = 0, argument_bytes = 0;
  std::size_t local_bytes =
      0;  // of a thread: spilled registers and indexed arrays, in device memory
  // Loads on their way before the first one's value is waited for, in the loop with the fewest;
  // none: no loop loads.
  std::optional<std::size_t> loads_in_flight = {};
  std::size_t narrow_stores = 0;  // of less than 16 bytes
};

using CompiledKernels = std::map<std::string, CompiledKernel>;

// Returns what a launch of the kernel may need beyond a card. A block of a kernel without a bound
// may have as many threads as any.
std::vector<std::string> excesses(const CompiledKernel& kernel) {
  std::vector<std::string> found;
  const std::size_t threads = kernel.bound == 0 ? kMostThreads : kernel.bound;
  const std::size_t registers = (kernel.registers + 7) / 8 * 8;  // as a card allots them
  const auto limit = [&found](std::size_t got, std::size_t most, const char* what) {
    if (got > most) found.push_back(std::to_string(got) + " " + what);
  };
  limit(registers * threads, kRegistersOfABlock, "registers of a block");
  limit(kernel.shared_bytes, kMostSharedBytes, "bytes of shared memory");
  limit(kernel.argument_bytes, kMostArgumentBytes, "bytes of arguments");
  limit(kernel.local_bytes, 0, "bytes of local memory");
  return found;
}

template <typename T>
T value_at(std::string_view bytes, std::size_t offset) {
  if (offset + sizeof(T) > bytes.size()) throw std::runtime_error("an image is cut off");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Section {
  std::string name;
  Elf64_Shdr header;
  std::string_view bytes;
};

std::vector<Section> sections_of(std::string_view image) {
  const auto header = value_at<Elf64_Ehdr>(image, 0);
  std::vector<Section> sections;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto each = value_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    const bool has_bytes = each.sh_type != SHT_NOBITS;
    sections.push_back({"", each, image.substr(each.sh_offset, has_bytes ? each.sh_size : 0)});
  }
  const std::string_view names = sections.at(header.e_shstrndx).bytes;
  for (Section& section : sections) section.name = names.substr(section.header.sh_name).data();
  return sections;
}

// Attributes of a section .nv.info, which the toolkit's tools call EIATTR_….
enum class Attribute {
  kMaxThreads = 0x05,
  kFrameSize = 0x11,
  kParameterBytes = 0x19,
  kRegisters = 0x2F
};

// Calls visit(attribute, value) for each. A format of 4 says that a length and the value follow,
// others that the value has two bytes.
template <typename Visit>
void for_each_attribute(std::string_view info, const Visit& visit) {
  for (std::size_t at = 0; at < info.size();) {
    const auto format = value_at<std::uint8_t>(info, at);
    const Attribute attribute{value_at<std::uint8_t>(info, at + 1)};
    const std::size_t bytes = format == 4 ? value_at<std::uint16_t>(info, at + 2) : 2;
    visit(attribute, info.substr(format == 4 ? at + 4 : at + 2, bytes));
    at += format == 4 ? 4 + bytes : 4;
  }
}

// Adds what `.nv.info` says of all functions: their number in the symbols, then the value.
void add_functions(std::string_view info, const std::vector<std::string>& symbols,
                   CompiledKernels& kernels) {
  for_each_attribute(info, [&](Attribute attribute, std::string_view value) {
    if (attribute != Attribute::kRegisters && attribute != Attribute::kFrameSize) return;
    CompiledKernel& kernel = kernels[symbols.at(value_at<std::uint32_t>(value, 0))];
    const auto number = value_at<std::uint32_t>(value, 4);
    (attribute == Attribute::kRegisters ? kernel.registers : kernel.local_bytes) = number;
  });
}

// Adds what `.nv.info.KERNEL` says of one.
void add_kernel(std::string_view info, CompiledKernel& kernel) {
  for_each_attribute(info, [&](Attribute attribute, std::string_view value) {
    if (attribute == Attribute::kParameterBytes) {
      kernel.argument_bytes = value_at<std::uint16_t>(value, 0);
    } else if (attribute == Attribute::kMaxThreads) {
      kernel.bound = 1;
      for (std::size_t i = 0; i < 3; ++i) kernel.bound *= value_at<std::uint32_t>(value, 4 * i);
    }
  });
}

// One instruction of the machine code since compute capability 7.0: 16 bytes. NVIDIA documents it
// nowhere; nvdisasm prints the words beside their meaning.
struct Instruction {
  std::uint64_t low, high;

  bool is(unsigned opcode) const { return (low & 0xFFF) == opcode; }
  bool loads() const { return is(0x981); }   // LDG
  bool stores() const { return is(0x986); }  // STG
  bool is_narrow() const { return (high >> 9 & 7) != 6; }
  // The barriers that it waits for, one bit each, and the one that its result will pass.
  std::uint64_t waits_for() const { return high >> 52 & 0x3F; }
  std::uint64_t passes() const { return std::uint64_t{1} << (high >> 46 & 7); }
  // Returns by how many instructions it branches back; 0 if it does not.
  std::size_t branches_back() const {
    if (!is(0x947) || static_cast<std::int64_t>(low) >= 0) return 0;
    const std::int64_t words =
        (static_cast<std::int64_t>(low) >> 34) * 256 + static_cast<std::int64_t>(low >> 16 & 0xFF);
    return static_cast<std::size_t>(-words) / 4;
  }
};

// Returns the most loads that follow each other before one's result is waited for.
std::size_t loads_in_flight(std::span<const Instruction> loop) {
  std::size_t most = 0, loads = 0;
  std::uint64_t pending = 0;
  for (const Instruction& each : loop) {
    if ((each.waits_for() & pending) != 0) loads = 0, pending = 0;
    if (each.loads()) pending |= each.passes(), most = std::max(most, ++loads);
  }
  return most;
}

// Adds what the machine code of one, `.text.KERNEL`, says.
void add_code(std::string_view code, CompiledKernel& kernel) {
  std::vector<Instruction> all;
  for (std::size_t at = 0; at < code.size(); at += sizeof(Instruction)) {
    all.push_back(value_at<Instruction>(code, at));
    kernel.narrow_stores += all.back().stores() && all.back().is_narrow();
    const std::size_t back = all.back().branches_back();
    if (back == 0 || back > all.size()) continue;
    const auto loop = std::span(all).last(back);
    if (std::ranges::none_of(loop, &Instruction::loads)) continue;
    const std::size_t loads = loads_in_flight(loop);
    kernel.loads_in_flight = std::min(kernel.loads_in_flight.value_or(loads), loads);
  }
}

// Adds the kernels of an image, and the functions that they call.
void add_image(std::string_view image, CompiledKernels& kernels) {
  constexpr std::string_view kInfo = ".nv.info.", kShared = ".nv.shared.", kCode = ".text.";
  const std::vector<Section> sections = sections_of(image);
  std::vector<std::string> symbols;
  for (const Section& section : sections) {
    if (section.header.sh_type != SHT_SYMTAB) continue;
    const std::string_view names = sections.at(section.header.sh_link).bytes;
    for (std::size_t at = 0; at < section.bytes.size(); at += sizeof(Elf64_Sym)) {
      symbols.push_back(names.substr(value_at<Elf64_Sym>(section.bytes, at).st_name).data());
    }
  }
  for (const auto& [name, header, bytes] : sections) {
    if (name == ".nv.info") add_functions(bytes, symbols, kernels);
    if (name.starts_with(kInfo)) add_kernel(bytes, kernels[name.substr(kInfo.size())]);
    if (name.starts_with(kCode)) add_code(bytes, kernels[name.substr(kCode.size())]);
    if (name.starts_with(kShared)) {
      kernels[name.substr(kShared.size())].shared_bytes = header.sh_size;
    }
  }
}

// Returns all kernels of a library. Fat binaries lie anywhere in it: a header of 16 bytes, then
// entries with a header each.
CompiledKernels kernels_of(std::string_view library) {
  constexpr std::string_view kMagic("\x50\xED\x55\xBA\x01\x00\x10\x00", 8);
  constexpr std::uint16_t kElf = 2;
  CompiledKernels kernels;
  for (auto at = library.find(kMagic); at != library.npos; at = library.find(kMagic, at)) {
    const std::size_t end = at + 16 + value_at<std::uint64_t>(library, at + 8);
    for (at += 16; at < end;) {
      const auto header_bytes = value_at<std::uint32_t>(library, at + 4);
      const auto bytes = value_at<std::uint64_t>(library, at + 8);
      if (value_at<std::uint64_t>(library, at + 56) != 0) {
        throw std::runtime_error("images are compressed, expected nvcc's --no-compress");
      }
      if (value_at<std::uint16_t>(library, at) == kElf) {
        add_image(library.substr(at + header_bytes, bytes), kernels);
      }
      at += header_bytes + bytes;
    }
  }
  return kernels;
}

std::string line_of(const std::string& name, const CompiledKernel& kernel) {
  const std::optional<std::size_t> loads = kernel.loads_in_flight;
  return name + " " + std::to_string(kernel.registers) + " " + std::to_string(kernel.local_bytes) +
         " " + (loads ? std::to_string(*loads) : "-") + "\n";
}

TEST(KernelLimits, AreThoseOfACard) {
  EXPECT_THAT(excesses({.registers = 64, .local_bytes = 0}), IsEmpty());
  EXPECT_THAT(excesses({.registers = 65}), ElementsAre("73728 registers of a block"));
  EXPECT_THAT(excesses({.registers = 255, .bound = 256}), IsEmpty());
  EXPECT_THAT(excesses({.registers = 32, .shared_bytes = 49153, .argument_bytes = 32765}),
              ElementsAre("49153 bytes of shared memory", "32765 bytes of arguments"));
  EXPECT_THAT(excesses({.local_bytes = 8}), ElementsAre("8 bytes of local memory"));
}

// The kernels of the framework's library.
class CompiledKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = SKYLINE_KERNELS;
    if (path.empty()) GTEST_SKIP() << "no kernel was compiled: the build has no CUDA toolkit";
    std::ifstream file(path, std::ios::binary);
    const std::string library{std::istreambuf_iterator<char>(file), {}};
    kernels = kernels_of(library);
  }

  CompiledKernels kernels;
};

// Records a line a kernel, of which tests/benchmarks/measure.py makes a table.
TEST_F(CompiledKernelsTest, NeedNoMoreThanACardHas) {
  std::size_t found = 0, bounded = 0, shared = 0;
  std::string lines;
  for (const auto& [name, kernel] : kernels) {
    EXPECT_THAT(excesses(kernel), IsEmpty()) << name;
    if (kernel.argument_bytes > 0) lines += line_of(name, kernel);
    found += kernel.registers > 0 && kernel.argument_bytes > 0;
    bounded += kernel.bound > 0;
    shared += kernel.shared_bytes > 0;
  }
  EXPECT_GT(found, 80u) << "of all ops";
  EXPECT_GT(bounded, 4u) << "softmax among them";
  EXPECT_GT(shared, 10u) << "sums of rows and columns among them";
  RecordProperty("kernels", lines);
}

// They take a step's time by the bytes that are on their way. With 48 registers a thread, five
// blocks share a multiprocessor.
TEST_F(CompiledKernelsTest, PassesOverImagesKeepFourLoadsInFlight) {
  std::size_t found = 0;
  for (const auto& [name, kernel] : kernels) {
    const bool writes = name.find("for_each_element_kernel") != name.npos;
    if (!writes && name.find("channel_sums_kernel") == name.npos) continue;
    // Registers do not suffice for two rows of three operands, for two rows beside the numbers of
    // two normalizations, nor for a row of five operands beside three sums.
    const auto is = [&name](const char* part) { return name.find(part) != name.npos; };
    std::size_t least = 4;
    if (is("ShortcutTermsILb0ELb0E") || is("ShortcutTermsILb1ELb1E") || is("GradientFunctionILi2E"))
      least = 3;
    if (is("NormalizeFunctionILNS1_5AddedE2")) least = 2;
    EXPECT_THAT(kernel.loads_in_flight, Optional(Ge(least))) << name;
    EXPECT_LE(kernel.registers, 48u) << name;
    if (writes && name.find("kernelILi4E") != name.npos) {
      EXPECT_EQ(kernel.narrow_stores, 0u) << name;
    }
    ++found;
  }
  EXPECT_GE(found, 12u) << "batch normalization's, of one channel and of four";
}

}  // namespace
}  // namespace skyline
