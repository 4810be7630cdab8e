#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace skyline {

// What the operating system can still give.
struct HostMemory {
  std::uint64_t bytes = 0;
  std::string limit;  // name of the cgroup's or process's limit that decides; empty: the machine
};

// The least of "MemAvailable" and "SwapFree" of /proc/meminfo together, and what the limits of
// cgroups and of the process leave free. `bytes` is the largest number if nobody says. `root` as in
// CgroupLimits.
HostMemory available_host_memory(const std::filesystem::path& root = "/");

// Throws DataError when `bytes` of host memory are more than what is available: "[source] what
// takes 29.2 GiB of memory, but 21.0 GiB are available", or "... are free of memory.max of cgroup
// /jobs/7". Otherwise the system would end the process, without a word, when the bytes are written.
void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes,
                         const std::filesystem::path& root = "/");

}  // namespace skyline
