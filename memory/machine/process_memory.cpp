#include "memory/machine/process_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {
namespace {

// The heading of a mapping: "7f00-7f10 r-xp 00000000 fe:00 123   /usr/lib/libc.so".
struct Mapping {
  std::string permissions, path;
};

Mapping mapping_of(const std::string& line) {
  std::istringstream in(line);
  Mapping mapping;
  std::string range, offset, device, file_number;
  in >> range >> mapping.permissions >> offset >> device >> file_number >> mapping.path;
  return mapping;
}

// Xbyak may keep code in a memfd.
std::uint64_t& place_of(const Mapping& mapping, ProcessMemory& memory) {
  const bool of_file = mapping.path.starts_with('/') && !mapping.path.starts_with("/memfd:");
  if (of_file) return memory.program_bytes;
  const bool executable = mapping.permissions.find('x') != std::string::npos;
  return executable ? memory.generated_bytes : memory.anonymous_bytes;
}

// Returns the value of a line "NAME:   123 kB" of a file of /proc; 0 if there is none.
std::uint64_t kilobytes_in(const char* file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size())) * 1024;
  }
  return 0;
}

}  // namespace

void add_mappings(std::istream& smaps, ProcessMemory& memory) {
  constexpr std::string_view kResident = "Rss:";
  Mapping mapping;
  for (std::string line; std::getline(smaps, line);) {
    const std::size_t first_word = line.find(' ');
    if (first_word == std::string::npos) continue;
    if (line[first_word - 1] != ':') {
      mapping = mapping_of(line);
    } else if (line.starts_with(kResident)) {
      const std::uint64_t bytes = std::stoull(line.substr(kResident.size())) * 1024;
      place_of(mapping, memory) += bytes;
      memory.resident_bytes += bytes;
    }
  }
}

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream smaps("/proc/self/smaps");
  add_mappings(smaps, memory);
  memory.peak_resident_bytes =
      std::max(memory.resident_bytes, kilobytes_in("/proc/self/status", "VmHWM:"));
  const struct mallinfo2 heap = mallinfo2();
  memory.heap_used_bytes = heap.uordblks + heap.hblkhd;
  memory.heap_free_bytes = heap.fordblks;
  return memory;
}

std::size_t resident_bytes_of(const std::byte* address, std::size_t bytes) {
  constexpr std::size_t kPagesAtOnce = 16384;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present(kPagesAtOnce);
  std::size_t resident_bytes = 0;
  for (std::size_t offset = 0; offset < bytes; offset += kPagesAtOnce * page_bytes) {
    const std::size_t piece_bytes = std::min(bytes - offset, kPagesAtOnce * page_bytes);
    // mincore() only reads the addresses, but its parameter is not const.
    if (mincore(const_cast<std::byte*>(address + offset), piece_bytes, present.data()) != 0) break;
    const auto pages = static_cast<std::ptrdiff_t>((piece_bytes + page_bytes - 1) / page_bytes);
    const auto count = std::count_if(present.begin(), present.begin() + pages,
                                     [](unsigned char page) { return (page & 1) != 0; });
    resident_bytes += static_cast<std::size_t>(count) * page_bytes;
  }
  return resident_bytes;
}

}  // namespace skyline
