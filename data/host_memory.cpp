#include "data/host_memory.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <limits>

#include "data/errors.h"

namespace skyline {
namespace {

std::string gibibytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB", static_cast<double>(bytes) * 0x1p-30);
  return text.data();
}

HostLimitReader limit_reader = nullptr;

std::uint64_t machine_bytes(const std::filesystem::path& meminfo) {
  std::ifstream facts(meminfo);
  std::string name, unit;
  std::uint64_t kibibytes = 0, available = 0;
  for (; facts >> name >> kibibytes; std::getline(facts, unit)) {
    if (name == "MemAvailable:" || name == "SwapFree:") available += kibibytes * 1024;
  }
  return available > 0 ? available : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

void set_host_limit_reader(HostLimitReader reader) { limit_reader = reader; }

HostMemory available_host_memory(const std::filesystem::path& meminfo) {
  const HostMemory machine{.bytes = machine_bytes(meminfo), .limit = {}};
  const std::optional<HostMemory> limit = limit_reader ? limit_reader() : std::nullopt;
  return limit && limit->bytes < machine.bytes ? *limit : machine;
}

void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes) {
  const HostMemory available = available_host_memory();
  if (bytes <= available.bytes) return;
  throw DataError(source,
                  what + " takes " + gibibytes(bytes) + " of memory, but " +
                      gibibytes(available.bytes) + " are " +
                      (available.limit.empty() ? "available" : "free of " + available.limit));
}

}  // namespace skyline
