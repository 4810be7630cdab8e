#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>

namespace skyline {

// The resident set of this process and where it lies, in bytes.
struct ProcessMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_resident_bytes = 0;  // since the program began
  std::uint64_t program_bytes = 0;        // of the program and its libraries
  std::uint64_t generated_bytes = 0;      // of code made at run time, such as oneDNN's kernels
  std::uint64_t anonymous_bytes = 0;      // everything else: device memory, heap, stacks
  // Bytes that malloc has in use, and that it keeps for later requests. Pages never touched count.
  std::uint64_t heap_used_bytes = 0, heap_free_bytes = 0;
};

// Reads /proc/self/smaps, /proc/self/status and mallinfo2(). Milliseconds. Figures that the system
// does not have are 0.
ProcessMemory process_memory();

// Adds the resident bytes of the mappings in a text as of /proc/self/smaps to `memory`.
void add_mappings(std::istream& smaps, ProcessMemory& memory);

// Returns how many of `bytes` from a page on lie in memory now.
std::size_t resident_bytes_of(const std::byte* address, std::size_t bytes);

}  // namespace skyline
