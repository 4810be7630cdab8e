#include "memory/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

struct Change {
  Tick tick;
  bool begins;  // ends sort before beginnings: lifetimes are half-open
  std::uint64_t bytes;
};

std::vector<Change> changes_in_order(const Trace& trace, std::uint64_t alignment) {
  std::vector<Change> changes;
  changes.reserve(2 * trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    if (block.lower >= block.upper) {
      throw TraceError({.source = "trace",
                        .problem = fmt::format("block {} has the empty lifetime [{}, {})",
                                               trace.id(i), block.lower, block.upper)});
    }
    const std::uint64_t bytes = rounded(block.bytes, alignment);
    changes.push_back({block.lower, true, bytes});
    changes.push_back({block.upper, false, bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.begins < b.begins;
  });
  return changes;
}

}  // namespace

std::string Trace::id(std::size_t index) const {
  return index < ids.size() ? ids[index] : std::to_string(index);
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment) {
  if (alignment == 0 || alignment > kMaxBytes) {
    throw TraceError(
        {.source = "trace",
         .problem = fmt::format("got alignment {}, expected 1 to {}", alignment, kMaxBytes)});
  }
  const std::uint64_t units = bytes == 0 ? 1 : (bytes - 1) / alignment + 1;
  if (units > kMaxBytes / alignment) {
    throw TraceError({.source = "trace",
                      .problem = fmt::format("{} bytes rounded up to a multiple of {} pass {}",
                                             bytes, alignment, kMaxBytes)});
  }
  return units * alignment;
}

std::uint64_t lower_bound_bytes(const Trace& trace, std::uint64_t alignment) {
  std::uint64_t alive = 0;
  std::uint64_t most = 0;
  for (const Change& change : changes_in_order(trace, alignment)) {
    if (!change.begins) {
      alive -= change.bytes;
      continue;
    }
    if (change.bytes > kMaxBytes - alive) {
      throw TraceError(
          {.source = "trace",
           .problem = fmt::format("the bytes alive at tick {} pass {}", change.tick, kMaxBytes)});
    }
    alive += change.bytes;
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace skyline
