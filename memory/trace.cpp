#include "memory/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

struct Change {
  Tick tick;
  bool begins;  // ends sort first: lifetimes are half-open
  std::uint64_t bytes;
};

[[noreturn]] void refuse(std::string problem) {
  throw TraceError({.source = "trace", .problem = std::move(problem)});
}

// Returns the beginnings and ends of every block's uses: its lifetime without its gaps.
std::vector<Change> changes_in_order(const Trace& trace, std::uint64_t alignment) {
  require_sound(trace);
  std::vector<Change> changes;
  changes.reserve(2 * (trace.size() + trace.gaps.size()));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::uint64_t bytes = planned_bytes(trace, i, alignment);
    changes.push_back({trace.blocks[i].lower, true, bytes});
    changes.push_back({trace.blocks[i].upper, false, bytes});
  }
  for (const TraceGap& gap : trace.gaps) {
    const std::uint64_t bytes = planned_bytes(trace, gap.block, alignment);
    changes.push_back({gap.lower, false, bytes});
    changes.push_back({gap.upper, true, bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.begins < b.begins;
  });
  return changes;
}

void require_sound_gaps(const Trace& trace) {
  const TraceGap* previous = nullptr;
  for (const TraceGap& gap : trace.gaps) {
    if (gap.block >= trace.size()) {
      refuse(fmt::format("a gap belongs to block {} of {}", gap.block, trace.size()));
    }
    const TraceBlock& block = trace.blocks[gap.block];
    if (gap.lower >= gap.upper || gap.lower < block.lower || gap.upper > block.upper) {
      refuse(fmt::format("block {} has the gap [{}, {}) in its lifetime [{}, {})",
                         trace.id(gap.block), gap.lower, gap.upper, block.lower, block.upper));
    }
    if (previous != nullptr && (previous->block > gap.block ||
                                (previous->block == gap.block && previous->upper > gap.lower))) {
      refuse(fmt::format("the gap [{}, {}) of block {} does not follow the previous one", gap.lower,
                         gap.upper, trace.id(gap.block)));
    }
    previous = &gap;
  }
}

void require_alignment(std::uint64_t alignment) {
  if (alignment > 0 && alignment <= kMaxBytes) return;
  refuse(fmt::format("got alignment {}, expected 1 to {}", alignment, kMaxBytes));
}

void require_as_many(std::size_t count, const Trace& trace, const char* what) {
  if (count == 0 || count == trace.size()) return;
  refuse(fmt::format("got {} {} for {} blocks", count, what, trace.size()));
}

}  // namespace

std::string Trace::id(std::size_t index) const {
  return index < ids.size() ? ids[index] : std::to_string(index);
}

bool Trace::has_fixed_offsets() const noexcept {
  return std::any_of(fixed_offsets.begin(), fixed_offsets.end(),
                     [](const auto& offset) { return offset.has_value(); });
}

void require_sound(const Trace& trace) {
  require_as_many(trace.ids.size(), trace, "ids");
  require_as_many(trace.tags.size(), trace, "tags");
  require_as_many(trace.fixed_offsets.size(), trace, "fixed offsets");
  require_as_many(trace.alignments.size(), trace, "alignments");
  for (const std::uint64_t alignment : trace.alignments) require_alignment(alignment);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    if (block.lower < block.upper) continue;
    refuse(fmt::format("block {} has the empty lifetime [{}, {})", trace.id(i), block.lower,
                       block.upper));
  }
  require_sound_gaps(trace);
}

std::uint64_t align_checked(std::uint64_t bytes, std::uint64_t alignment) {
  require_alignment(alignment);
  const std::uint64_t aligned_bytes = align_request(bytes, alignment);
  if (aligned_bytes > kMaxBytes) {
    refuse(fmt::format("{} bytes rounded up to a multiple of {} exceed {}", bytes, alignment,
                       kMaxBytes));
  }
  return aligned_bytes;
}

std::uint64_t planned_bytes(const Trace& trace, std::size_t block, std::uint64_t alignment) {
  const std::uint64_t bytes = trace.blocks[block].bytes;
  if (trace.alignments.empty() && alignment != 1) return align_checked(bytes, alignment);
  if (bytes > kMaxBytes) refuse(fmt::format("got {} bytes, expected at most {}", bytes, kMaxBytes));
  return bytes;
}

std::uint64_t common_alignment(const Trace& trace, std::uint64_t otherwise) {
  if (trace.alignments.empty()) return otherwise;
  return std::accumulate(trace.alignments.begin(), trace.alignments.end(), std::uint64_t{0},
                         std::gcd<std::uint64_t, std::uint64_t>);
}

std::uint64_t lower_bound_bytes(const Trace& trace, std::uint64_t alignment) {
  __extension__ using Wide = __int128;  // below 0 for a moment where a gap ends with its block
  Wide alive = 0, most = 0;
  for (const Change& change : changes_in_order(trace, alignment)) {
    alive += change.begins ? static_cast<Wide>(change.bytes) : -static_cast<Wide>(change.bytes);
    if (alive > static_cast<Wide>(kMaxBytes)) {
      refuse(fmt::format("the bytes alive at tick {} pass {}", change.tick, kMaxBytes));
    }
    most = std::max(most, alive);
  }
  return static_cast<std::uint64_t>(most);
}

}  // namespace skyline
