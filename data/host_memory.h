#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace skyline {

// Bytes that the operating system can still give.
struct HostMemory {
  std::uint64_t bytes = 0;
  std::string limit;  // the limit that decides: "memory.max of cgroup /jobs"; empty: the machine
};

// Returns the tightest limit of this process now; nothing without limits.
using HostLimitReader = std::optional<HostMemory> (*)();
// Sets the reader that available_host_memory() asks, besides the machine. The program calls it
// before it makes data; without it there are no limits.
void set_host_limit_reader(HostLimitReader reader);

// Returns the least of "MemAvailable" and "SwapFree" together and of what the limit leaves free;
// the largest number if neither is known. `meminfo` is a file as /proc/meminfo.
HostMemory available_host_memory(const std::filesystem::path& meminfo = "/proc/meminfo");

// Throws DataError when `bytes` of host memory are more than what is available: "[source] what
// takes 29.2 GiB of memory, but 21.0 GiB are available", or "... are free of memory.max of cgroup
// /jobs/7". Otherwise the system would end the process, without a word, when the bytes are written.
void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes);

}  // namespace skyline
