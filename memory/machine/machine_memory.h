#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include "memory/machine/memory_limit.h"

namespace skyline {

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
