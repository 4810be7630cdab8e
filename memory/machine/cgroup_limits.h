#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "memory/machine/memory_limit.h"

namespace skyline {

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

}  // namespace skyline
