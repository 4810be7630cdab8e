#include "memory/machine/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "memory/machine/cgroup_limits.h"
#include "memory/machine/process_limits.h"

namespace skyline {

std::optional<MemoryLimit> tightest_limit(const std::filesystem::path& root) {
  std::vector<MemoryLimit> limits = CgroupLimits(root).now();
  for (MemoryLimit& limit : process_limits()) limits.push_back(std::move(limit));
  return tightest(limits);
}

MachineMemory machine_memory(const std::filesystem::path& root) {
  MachineMemory memory{.bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<std::size_t>(sysconf(_SC_PAGESIZE)),
                       .limit = {}};
  const std::optional<MemoryLimit> limit = tightest_limit(root);
  if (!limit) return memory;
  const std::size_t free_bytes = limit->free_bytes();
  const std::size_t bytes = free_bytes - std::min(free_bytes, kKeptBytes);
  return bytes < memory.bytes ? MachineMemory{bytes, limit} : memory;
}

}  // namespace skyline
