#include "data/images/idx/idx_array.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "data/host.h"

namespace skyline {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::uint64_t kMostArrayBytes = std::uint64_t{1} << 31;
constexpr std::size_t kFirstReadBytes = std::size_t{1} << 20;

std::uint32_t read_big_endian(ByteReader& reader, const std::string& part) {
  std::array<std::uint8_t, 4> bytes{};
  const std::size_t count = reader.read(bytes);
  if (count < bytes.size()) {
    throw DataError(reader.source(), "file ends within its " + part,
                    std::to_string(count) + " bytes of it", "4");
  }
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::string hex(std::uint32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08X", number);
  return text.data();
}

std::string type_name(std::uint32_t type) {
  constexpr const char* kNames[] = {"unsigned bytes",  "signed bytes", "",       "16-bit integers",
                                    "32-bit integers", "floats",       "doubles"};
  const std::uint32_t number = type - kUnsignedByte;
  return number < std::size(kNames) ? kNames[number] : "";
}

std::string describe_magic(std::uint32_t magic) {
  const std::string type = type_name(magic >> 8);  // also empty unless two zero bytes lead
  if (type.empty()) return hex(magic) + " (not an IDX file)";
  const std::uint32_t rank = magic & 0xff;
  return hex(magic) + " (" + type + ", " + std::to_string(rank) +
         (rank == 1 ? " dimension)" : " dimensions)");
}

std::string describe(const std::vector<std::uint32_t>& dimensions) {
  std::string text;
  for (const std::uint32_t dimension : dimensions) {
    text += (text.empty() ? "" : " x ") + std::to_string(dimension);
  }
  return text;
}

// Returns the product of the dimensions, checked before anything of that size is allocated.
std::uint64_t array_bytes(const ByteReader& reader, const std::vector<std::uint32_t>& dimensions) {
  std::uint64_t bytes = 1;
  for (const std::uint32_t dimension : dimensions) {
    if (dimension == 0) {
      throw DataError(reader.source(), "an empty array", describe(dimensions), "no dimension of 0");
    }
    bytes *= dimension;  // below 2^31 · 2^32
    if (bytes > kMostArrayBytes) {
      throw DataError(reader.source(), "array too large", describe(dimensions) + " bytes",
                      "at most " + std::to_string(kMostArrayBytes));
    }
  }
  return bytes;
}

[[noreturn]] void throw_truncated(const ByteReader& reader, const std::string& got,
                                  const std::vector<std::uint32_t>& dimensions,
                                  std::uint64_t bytes) {
  throw DataError(reader.source(), "file ends early", got + " bytes after its header",
                  std::to_string(bytes) + " (" + describe(dimensions) + ")");
}

std::vector<std::uint8_t> read_array(ByteReader& reader,
                                     const std::vector<std::uint32_t>& dimensions) {
  const std::uint64_t total = array_bytes(reader, dimensions);
  if (const std::uint64_t most = reader.most_remaining_bytes(); total > most) {
    throw_truncated(reader, "at most " + std::to_string(most), dimensions, total);
  }
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < total) {
    const std::size_t begin = bytes.size();
    bytes.resize(std::min<std::uint64_t>(total, std::max(kFirstReadBytes, 2 * begin)));
    const std::size_t count = reader.read(std::span(bytes).subspan(begin));
    if (begin + count < bytes.size()) {
      throw_truncated(reader, std::to_string(begin + count), dimensions, total);
    }
  }
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> IdxArray::file() const {
  std::vector<std::uint8_t> file = {0, 0, kUnsignedByte,
                                    static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) {
    for (const int shift : {24, 16, 8, 0}) {
      file.push_back(static_cast<std::uint8_t>(dimension >> shift));
    }
  }
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

IdxArray parse_idx(ByteReader& reader, int rank) {
  const std::uint32_t expected =
      std::uint32_t{kUnsignedByte} << 8 | static_cast<std::uint32_t>(rank);
  const std::uint32_t magic = read_big_endian(reader, "magic number");
  if (magic != expected) {
    throw DataError(reader.source(), "magic number", describe_magic(magic),
                    describe_magic(expected));
  }
  IdxArray array;
  for (int i = 0; i < rank; ++i) {
    array.dimensions.push_back(read_big_endian(reader, "dimension " + std::to_string(i)));
  }
  array.bytes = read_array(reader, array.dimensions);
  std::array<std::uint8_t, 1> extra{};  // reading past the end also checks the last checksum
  if (reader.read(extra) != 0) {
    throw DataError(reader.source(), "file goes on after its " +
                                         std::to_string(array.bytes.size()) + " bytes (" +
                                         describe(array.dimensions) + ")");
  }
  return array;
}

}  // namespace skyline
