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

}  // namespace

std::uint64_t available_host_bytes() {
  std::ifstream facts("/proc/meminfo");
  std::string name, unit;
  std::uint64_t kibibytes = 0, available = 0;
  for (; facts >> name >> kibibytes; std::getline(facts, unit)) {
    if (name == "MemAvailable:" || name == "SwapFree:") available += kibibytes * 1024;
  }
  return available > 0 ? available : std::numeric_limits<std::uint64_t>::max();
}

void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes) {
  const std::uint64_t available = available_host_bytes();
  if (bytes <= available) return;
  throw DataError(source, what + " takes " + gibibytes(bytes) + " of memory, but " +
                              gibibytes(available) + " are available");
}

}  // namespace skyline
