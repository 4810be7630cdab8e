#include "data/host_memory.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <limits>

#include "data/errors.h"
#include "memory/machine/machine_memory.h"

namespace skyline {
namespace {

std::string gibibytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB", static_cast<double>(bytes) * 0x1p-30);
  return text.data();
}

std::uint64_t machine_bytes(const std::filesystem::path& root) {
  std::ifstream facts(root / "proc/meminfo");
  std::string name, unit;
  std::uint64_t kibibytes = 0, available = 0;
  for (; facts >> name >> kibibytes; std::getline(facts, unit)) {
    if (name == "MemAvailable:" || name == "SwapFree:") available += kibibytes * 1024;
  }
  return available > 0 ? available : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

HostMemory available_host_memory(const std::filesystem::path& root) {
  HostMemory memory{.bytes = machine_bytes(root), .limit = {}};
  const auto limit = tightest_limit(root);
  if (limit && limit->free_bytes() < memory.bytes) memory = {limit->free_bytes(), limit->name};
  return memory;
}

void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes,
                         const std::filesystem::path& root) {
  const HostMemory available = available_host_memory(root);
  if (bytes <= available.bytes) return;
  throw DataError(source,
                  what + " takes " + gibibytes(bytes) + " of memory, but " +
                      gibibytes(available.bytes) + " are " +
                      (available.limit.empty() ? "available" : "free of " + available.limit));
}

}  // namespace skyline
