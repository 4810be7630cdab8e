#include "memory/planners/packing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

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

// Recorded steps have dense ticks: a table renumbers them without a sort.
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

void renumber_sparse(const Trace& trace, Tick first, Packing& out) {
  std::vector<KeyedIndex> ends;  // 2 × (block or gap), + 1 for an upper end
  ends.reserve(2 * (trace.size() + trace.gaps.size()));
  const auto add = [&ends, first](std::uint32_t interval, Tick lower, Tick upper) {
    ends.push_back({ticks_between(first, lower), 2 * interval});
    ends.push_back({ticks_between(first, upper), 2 * interval + 1});
  };
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    add(i, trace.blocks[i].lower, trace.blocks[i].upper);
  }
  const auto blocks = static_cast<std::uint32_t>(trace.size());
  for (std::uint32_t i = 0; i < trace.gaps.size(); ++i) {
    add(blocks + i, trace.gaps[i].lower, trace.gaps[i].upper);
    out.gaps.push_back({static_cast<BlockIndex>(trace.gaps[i].block), 0, 0});
  }
  radix_sort(ends);
  out.lower.resize(trace.size());
  out.upper.resize(trace.size());
  for (const auto& [since_first, end] : ends) {
    const auto tick = static_cast<Tick>(static_cast<std::uint64_t>(first) + since_first);
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
  renumber_sparse(trace, first, out);
}

// Returns the alignments that the trace states, or an empty list if `common` can serve all: then
// blocks that lie on top of each other are aligned of themselves.
std::vector<std::uint64_t> alignments_of(const Trace& trace, std::uint64_t& common) {
  if (trace.alignments.empty()) return {};
  common = trace.alignments.front();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.alignments[i] == common && trace.blocks[i].bytes % common == 0) continue;
    common = 1;
    return trace.alignments;
  }
  return {};
}

// Returns the fixed offsets, or an empty list if there are none.
std::vector<std::uint64_t> fixed_offsets(const Trace& trace, const Packing& packing) {
  if (!trace.has_fixed_offsets()) return {};
  std::vector<std::uint64_t> fixed(trace.size(), kNotFixed);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.fixed_offsets[i]) continue;
    fixed[i] = *trace.fixed_offsets[i];
    const std::uint64_t alignment = trace.alignment(i, packing.alignment);
    if (fixed[i] % alignment == 0 && fixed[i] <= kMaxAddress - packing.bytes[i]) continue;
    throw TraceError({.source = "trace",
                      .field = "offset",
                      .problem = fmt::format(
                          "block {} is fixed at {}, expected a multiple of {} and an end by {}",
                          trace.id(i), fixed[i], alignment, kMaxAddress)});
  }
  return fixed;
}

__extension__ using Wide = __int128;  // holds 2^30 blocks of 2^63 bytes

// Returns the most bytes in use at one tick, if each block has `bytes_of` it.
template <class BytesOf>
Wide most_alive(const Packing& packing, BytesOf bytes_of) {
  std::vector<Wide> change(packing.ticks.size(), 0);
  for (BlockIndex i = 0; i < packing.size(); ++i) {
    change[static_cast<std::size_t>(packing.lower[i])] += bytes_of(i);
    change[static_cast<std::size_t>(packing.upper[i])] -= bytes_of(i);
  }
  for (const PackingGap& gap : packing.gaps) {
    change[static_cast<std::size_t>(gap.lower)] -= bytes_of(gap.block);
    change[static_cast<std::size_t>(gap.upper)] += bytes_of(gap.block);
  }
  Wide alive = 0, most = 0;
  for (const Wide bytes : change) most = std::max(most, alive += bytes);
  return most;
}

std::uint64_t lower_bound_of(const Packing& packing) {
  const Wide most = most_alive(packing, [&packing](BlockIndex i) { return packing.bytes[i]; });
  if (most > static_cast<Wide>(kMaxAddress)) {
    throw TraceError(
        {.source = "trace",
         .problem = fmt::format("the bytes alive at one tick exceed {}", kMaxAddress)});
  }
  return static_cast<std::uint64_t>(most);
}

// Returns the most bytes that blocks which all begin at multiples of one number need at one tick:
// each takes whole multiples, except the highest.
std::uint64_t aligned_bound(const Packing& packing) {
  constexpr std::size_t kMostNumbers = 16;
  std::vector<std::uint64_t> numbers = packing.alignments;
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  if (numbers.size() > kMostNumbers) numbers.resize(kMostNumbers);
  Wide bound = 0;
  for (const std::uint64_t number : numbers) {
    std::uint64_t unused = 0;
    const Wide most = most_alive(packing, [&](BlockIndex i) -> std::uint64_t {
      if (packing.alignments[i] % number != 0) return 0;
      const std::uint64_t whole = align_up(packing.bytes[i], number);
      unused = std::max(unused, whole - packing.bytes[i]);
      return whole;
    });
    bound = std::max(bound, most - unused);
  }
  return static_cast<std::uint64_t>(std::min(bound, static_cast<Wide>(kMaxAddress)));
}

// Sorts `order` by descending key; stable.
template <class Key>
void sort_descending(std::vector<KeyedIndex>& order, Key key) {
  for (KeyedIndex& item : order) item.key = ~key(item.index);
  radix_sort(order);
}

// Sorts by two keys, the first more important. One pass is enough if both fit in 64 bits.
template <class First, class Second>
void sort_descending(std::vector<KeyedIndex>& order, First first, Second second) {
  std::uint64_t first_bits = 0, second_bits = 0;
  for (const KeyedIndex& item : order) {
    first_bits |= first(item.index);
    second_bits |= second(item.index);
  }
  const auto shift = static_cast<int>(std::bit_width(second_bits));
  if (static_cast<int>(std::bit_width(first_bits)) + shift < 64) {
    return sort_descending(order, [&](BlockIndex i) { return first(i) << shift | second(i); });
  }
  sort_descending(order, second);
  sort_descending(order, first);
}

// The area as a double, which cannot overflow. Non-negative doubles compare like their bits.
std::uint64_t area_key(std::uint64_t bytes, std::uint64_t ticks) {
  return std::bit_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(ticks));
}

constexpr unsigned kDigitBits = 11;  // a histogram fits in the first-level cache
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kFewItems = 1000;  // below it, comparing is faster than counting

void sort_by_digit(const std::vector<KeyedIndex>& from, unsigned shift,
                   std::vector<KeyedIndex>& to) {
  const auto digit = [shift](const KeyedIndex& item) {
    return (item.key >> shift) & (kDigits - 1);
  };
  std::array<std::uint32_t, kDigits + 1> place{};
  for (const KeyedIndex& item : from) ++place[digit(item) + 1];
  for (std::size_t i = 1; i <= kDigits; ++i) place[i] += place[i - 1];
  for (const KeyedIndex& item : from) to[place[digit(item)]++] = item;
}

}  // namespace

Packing::Packing(const Trace& trace, std::uint64_t alignment_bytes) : alignment(alignment_bytes) {
  require_numerable(trace);
  alignments = alignments_of(trace, alignment);
  bytes.reserve(trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i)
    bytes.push_back(planned_bytes(trace, i, alignment));
  renumber(trace, *this);
  fixed = fixed_offsets(trace, *this);
  lower_bound = lower_bound_of(*this);
  proved_bound = std::max(lower_bound, aligned_bound(*this));
}

std::uint64_t Packing::unit_bytes() const {
  std::uint64_t unit = 0;
  for (const std::uint64_t size : bytes) unit = std::gcd(unit, size);
  for (const std::uint64_t offset : fixed) {
    if (offset != kNotFixed) unit = std::gcd(unit, offset);
  }
  for (const std::uint64_t number : alignments) unit = std::gcd(unit, number);
  return std::max<std::uint64_t>(unit, 1);
}

Plan to_plan(const Packing& packing, Placement placement, std::string_view name,
             const PlanOptions& options) {
  return {.offsets = std::move(placement.offsets),
          .peak = placement.peak,
          .lower_bound = packing.lower_bound,
          .proved_bound = packing.proved_bound,
          .alignment = packing.alignment,
          .planner = std::string(placement.out_of_time ? kProgramOrderPlanner : name),
          .proved_optimal = placement.peak == packing.proved_bound,
          .seed = options.seed,
          .out_of_time = placement.out_of_time};
}

void require_addressable(bool found, std::string_view name) {
  if (found) return;
  throw TraceError(
      {.source = "trace",
       .problem = fmt::format("planner {} found no plan within {} bytes", name, kMaxAddress)});
}

std::vector<BlockIndex> sorted_by(const Packing& packing, SortKey key) {
  std::vector<KeyedIndex> order(packing.size());
  for (BlockIndex i = 0; i < packing.size(); ++i) order[i].index = i;
  const auto bytes = [&packing](BlockIndex i) { return packing.bytes[i] / packing.alignment; };
  const auto ticks = [&packing](BlockIndex i) {
    return ticks_between(packing.ticks[static_cast<std::size_t>(packing.lower[i])],
                         packing.ticks[static_cast<std::size_t>(packing.upper[i])]);
  };
  if (key == SortKey::kLifetime) {
    sort_descending(order, ticks, bytes);
  } else {
    sort_descending(order, bytes, ticks);
  }
  if (key == SortKey::kArea) {  // stable: the order above breaks ties
    sort_descending(order, [&](BlockIndex i) { return area_key(packing.bytes[i], ticks(i)); });
  }
  std::vector<BlockIndex> sorted;
  sorted.reserve(order.size());
  for (const KeyedIndex& item : order) sorted.push_back(item.index);
  return sorted;
}

void radix_sort(std::vector<KeyedIndex>& items) {
  if (items.size() < kFewItems) {
    std::stable_sort(items.begin(), items.end(),
                     [](const KeyedIndex& a, const KeyedIndex& b) { return a.key < b.key; });
    return;
  }
  std::uint64_t differing = 0;  // as bits
  for (const KeyedIndex& item : items) differing |= item.key ^ items[0].key;
  std::vector<KeyedIndex> sorted(items.size());
  for (unsigned shift = 0; shift < 64; shift += kDigitBits) {
    if (((differing >> shift) & (kDigits - 1)) == 0) continue;
    sort_by_digit(items, shift, sorted);
    std::swap(items, sorted);
  }
}

}  // namespace skyline
