// What the system permits this process: limits of its cgroups and of ulimit, the physical memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline {

// A limit that the system sets to this process's memory, as it is now.
struct MemoryLimit {
  std::string name;             // "memory.max of cgroup /jobs/7"
  std::size_t limit_bytes = 0;  // all that it permits
  std::size_t used_bytes = 0;   // of it, by all processes that it limits

  std::size_t free_bytes() const noexcept {
    return limit_bytes - std::min(limit_bytes, used_bytes);
  }
};

// Returns the one with the fewest free bytes; nothing if there is none.
inline std::optional<MemoryLimit> tightest(const std::vector<MemoryLimit>& limits) {
  const auto least = std::ranges::min_element(limits, {}, &MemoryLimit::free_bytes);
  return least == limits.end() ? std::nullopt : std::optional(*least);
}

// The limits of this process's cgroup and of all cgroups above it, of version 2 (memory.max,
// memory.high) and version 1 (memory.limit_in_bytes). The kernel kills or stops a process that
// exceeds them. A container sees its own cgroup at the top.
class CgroupLimits {
 public:
  // Finds the cgroups with a limit. `root` is where the files of /proc and /sys lie; tests give a
  // folder of their own. Files that cannot be read limit nothing.
  explicit CgroupLimits(const std::filesystem::path& root = "/");

  static CgroupLimits none() { return CgroupLimits(Nothing()); }

  // Reads how much is used now. Pages that only cache files count as free, because the kernel takes
  // them back. Reads no file if there is no limit.
  std::vector<MemoryLimit> now() const;

 private:
  struct Nothing {};
  explicit CgroupLimits(Nothing) {}
  struct Files {
    std::string name;
    std::filesystem::path folder;
    const char *limit, *usage;  // file names
    const char* statistics_prefix;
  };
  void add_all(const std::filesystem::path& base, const std::string& cgroup, bool second_version);

  std::vector<Files> limited_;
};

// The limits of this process alone, which make the kernel refuse memory: RLIMIT_AS (`ulimit -v`,
// all addresses) and RLIMIT_DATA (`ulimit -d`, private writable memory).
std::vector<MemoryLimit> process_limits();
// The first of the two.
std::optional<MemoryLimit> address_limit();

// Returns the limit that explains why the kernel refused `bytes`, or the kernel's own words
// otherwise. Call it before errno changes.
MemoryLimit refusing_limit(std::size_t bytes);

// Returns the limit of a cgroup or of the process that leaves the least; nothing if there is none.
// `root` as in CgroupLimits.
std::optional<MemoryLimit> tightest_limit(const std::filesystem::path& root = "/");

// The host's device leaves these bytes of a limit free for the rest of the process: program and
// libraries, generated kernels, batches on the host, heap. tests/benchmarks/resident_set.py
// measures whether they suffice.
inline constexpr std::size_t kKeptBytes = std::size_t{48} << 20;

// How much a device on the host may hold.
struct MachineMemory {
  std::size_t bytes = 0;
  // tightest_limit(): `bytes` is what is free of it less kKeptBytes. Empty: `bytes` is the physical
  // memory, which is less.
  std::optional<MemoryLimit> limit;
};

MachineMemory machine_memory(const std::filesystem::path& root = "/");

}  // namespace skyline
