#include "memory/planners/packing.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "memory/errors.h"

namespace skyline {
namespace {

void require_numerable(const Trace& trace) {
  require_sound(trace);
  const std::size_t most = std::max(trace.size(), trace.gaps.size());
  if (most <= (1u << 30)) return;
  throw TraceError({.source = "trace",
                    .problem = fmt::format("got {} blocks or gaps, expected at most 2^30", most)});
}

std::uint64_t ticks_between(Tick lower, Tick upper) {
  return static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower);
}

// Ticks of recorded steps are dense: then they are renumbered by a table instead of a sort.
void renumber_dense(const Trace& trace, Tick first, std::uint64_t span, Packing& out) {
  std::vector<std::int32_t> number(span + 1, 0);
  for (const TraceBlock& block : trace.blocks) {
    number[ticks_between(first, block.lower)] = 1;
    number[ticks_between(first, block.upper)] = 1;
  }
  for (const TraceGap& gap : trace.gaps) {
    number[ticks_between(first, gap.lower)] = 1;
    number[ticks_between(first, gap.upper)] = 1;
  }
  for (std::uint64_t t = 0; t <= span; ++t) {
    if (number[t] == 0) continue;
    number[t] = static_cast<std::int32_t>(out.ticks.size());
    out.ticks.push_back(first + static_cast<Tick>(t));
  }
  for (const TraceBlock& block : trace.blocks) {
    out.lower.push_back(number[ticks_between(first, block.lower)]);
    out.upper.push_back(number[ticks_between(first, block.upper)]);
  }
  for (const TraceGap& gap : trace.gaps) {
    out.gaps.push_back({static_cast<BlockIndex>(gap.block), number[ticks_between(first, gap.lower)],
                        number[ticks_between(first, gap.upper)]});
  }
}

void renumber_sparse(const Trace& trace, Packing& out) {
  std::vector<std::pair<Tick, std::uint32_t>> ends;  // 2 × (block or gap), + 1 for the upper end
  ends.reserve(2 * (trace.size() + trace.gaps.size()));
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    ends.emplace_back(trace.blocks[i].lower, 2 * i);
    ends.emplace_back(trace.blocks[i].upper, 2 * i + 1);
  }
  const auto blocks = static_cast<std::uint32_t>(trace.size());
  for (std::uint32_t i = 0; i < trace.gaps.size(); ++i) {
    ends.emplace_back(trace.gaps[i].lower, 2 * (blocks + i));
    ends.emplace_back(trace.gaps[i].upper, 2 * (blocks + i) + 1);
    out.gaps.push_back({static_cast<BlockIndex>(trace.gaps[i].block), 0, 0});
  }
  std::sort(ends.begin(), ends.end());
  out.lower.resize(trace.size());
  out.upper.resize(trace.size());
  for (const auto& [tick, end] : ends) {
    if (out.ticks.empty() || out.ticks.back() != tick) out.ticks.push_back(tick);
    const auto number = static_cast<std::int32_t>(out.ticks.size() - 1);
    const std::uint32_t interval = end / 2;
    if (interval < blocks) {
      (end % 2 == 0 ? out.lower : out.upper)[interval] = number;
    } else {
      PackingGap& gap = out.gaps[interval - blocks];
      (end % 2 == 0 ? gap.lower : gap.upper) = number;
    }
  }
}

void renumber(const Trace& trace, Packing& out) {
  if (trace.size() == 0) return;
  Tick first = trace.blocks[0].lower;
  Tick last = trace.blocks[0].upper;
  for (const TraceBlock& block : trace.blocks) {
    first = std::min(first, block.lower);
    last = std::max(last, block.upper);
  }
  const std::uint64_t span = ticks_between(first, last);
  out.lower.reserve(trace.size());
  out.upper.reserve(trace.size());
  if (span <= 8 * trace.size()) return renumber_dense(trace, first, span, out);
  renumber_sparse(trace, out);
}

// Puts a zero between any two bits.
std::uint64_t spread(std::int32_t value) {
  std::uint64_t bits = static_cast<std::uint32_t>(value);
  bits = (bits | bits << 16) & 0x0000ffff0000ffffu;
  bits = (bits | bits << 8) & 0x00ff00ff00ff00ffu;
  bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0fu;
  bits = (bits | bits << 2) & 0x3333333333333333u;
  return (bits | bits << 1) & 0x5555555555555555u;
}

// What trace.fixed_offsets says; empty when it fixes nothing.
std::vector<std::uint64_t> fixed_offsets(const Trace& trace, std::uint64_t alignment) {
  if (!trace.has_fixed_offsets()) return {};
  std::vector<std::uint64_t> fixed(trace.size(), kNotFixed);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.fixed_offsets[i]) continue;
    fixed[i] = *trace.fixed_offsets[i];
    if (fixed[i] % alignment == 0 &&
        fixed[i] <= kMaxAddress - rounded(trace.blocks[i].bytes, alignment)) {
      continue;
    }
    throw TraceError({.source = "trace",
                      .field = "offset",
                      .problem = fmt::format("block {} is fixed at {}, expected a multiple of {}",
                                             trace.id(i), fixed[i], alignment)});
  }
  return fixed;
}

std::uint64_t most_alive(const Packing& packing) {
  __extension__ using Wide = __int128;  // sums of 2^30 blocks of 2^63 bytes
  std::vector<Wide> change(packing.ticks.size(), 0);
  for (std::size_t i = 0; i < packing.size(); ++i) {
    change[static_cast<std::size_t>(packing.lower[i])] += packing.bytes[i];
    change[static_cast<std::size_t>(packing.upper[i])] -= packing.bytes[i];
  }
  for (const PackingGap& gap : packing.gaps) {
    change[static_cast<std::size_t>(gap.lower)] -= packing.bytes[gap.block];
    change[static_cast<std::size_t>(gap.upper)] += packing.bytes[gap.block];
  }
  Wide alive = 0, most = 0;
  for (const Wide bytes : change) most = std::max(most, alive += bytes);
  if (most > static_cast<Wide>(kMaxAddress)) {
    throw TraceError({.source = "trace",
                      .problem = fmt::format("the bytes alive at one tick pass {}", kMaxAddress)});
  }
  return static_cast<std::uint64_t>(most);
}

}  // namespace

Packing::Packing(const Trace& trace, std::uint64_t alignment_bytes) : alignment(alignment_bytes) {
  require_numerable(trace);
  bytes.reserve(trace.size());
  for (const TraceBlock& block : trace.blocks) bytes.push_back(rounded(block.bytes, alignment));
  renumber(trace, *this);
  fixed = fixed_offsets(trace, alignment);
  lower_bound = most_alive(*this);
}

Plan to_plan(const Packing& packing, Placement placement, std::string_view name,
             const PlanOptions& options) {
  return {.offsets = std::move(placement.offsets),
          .peak = placement.peak,
          .lower_bound = packing.lower_bound,
          .proved_bound = packing.lower_bound,
          .alignment = packing.alignment,
          .planner = std::string(name),
          .proved_optimal = placement.peak == packing.lower_bound,
          .seed = options.seed};
}

void require_addressable(bool found, std::string_view name) {
  if (found) return;
  throw TraceError(
      {.source = "trace",
       .problem = fmt::format("planner {} found no plan within {} bytes", name, kMaxAddress)});
}

std::vector<BlockIndex> sorted_by(const Packing& packing, SortKey key) {
  struct Entry {
    double key;
    std::uint64_t bytes, ticks;
    BlockIndex block;
  };
  std::vector<Entry> entries;
  entries.reserve(packing.size());
  for (BlockIndex i = 0; i < packing.size(); ++i) {
    const std::uint64_t ticks =
        ticks_between(packing.ticks[static_cast<std::size_t>(packing.lower[i])],
                      packing.ticks[static_cast<std::size_t>(packing.upper[i])]);
    const std::uint64_t bytes = packing.bytes[i];
    const double area = static_cast<double>(bytes) * static_cast<double>(ticks);
    entries.push_back({key == SortKey::kArea ? area : 0.0, bytes, ticks, i});
  }
  std::sort(entries.begin(), entries.end(), [key](const Entry& a, const Entry& b) {
    if (a.key != b.key) return a.key > b.key;
    if (key == SortKey::kLifetime && a.ticks != b.ticks) return a.ticks > b.ticks;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    if (a.ticks != b.ticks) return a.ticks > b.ticks;
    return a.block < b.block;
  });
  std::vector<BlockIndex> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(entry.block);
  return order;
}

std::vector<BlockIndex> along_curve(const Packing& packing) {
  std::vector<std::pair<std::uint64_t, BlockIndex>> curve;
  curve.reserve(packing.size());
  for (BlockIndex i = 0; i < packing.size(); ++i) {
    curve.emplace_back(spread(packing.lower[i]) << 1 | spread(packing.upper[i]), i);
  }
  std::sort(curve.begin(), curve.end());
  std::vector<BlockIndex> order;
  order.reserve(curve.size());
  for (const auto& [code, block] : curve) order.push_back(block);
  return order;
}

}  // namespace skyline
