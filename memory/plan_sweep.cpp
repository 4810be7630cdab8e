#include "memory/plan_sweep.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace skyline {
namespace {

constexpr std::size_t kBits = 64;

std::uint64_t bit(std::size_t rank) { return std::uint64_t{1} << (rank % kBits); }

std::size_t lowest(std::uint64_t word) { return static_cast<std::size_t>(std::countr_zero(word)); }

std::size_t highest(std::uint64_t word) {
  return kBits - 1 - static_cast<std::size_t>(std::countl_zero(word));
}

struct Item {
  std::uint64_t key;
  std::uint32_t place;
};

constexpr unsigned kSweepDigitBits = 11;
constexpr std::size_t kSweepDigits = std::size_t{1} << kSweepDigitBits;
constexpr std::size_t kFewSweepItems = 256;  // below it, comparing is faster than counting

std::uint64_t bits_of(std::uint64_t address) { return address; }
// Maps ticks to numbers in the same order.
std::uint64_t bits_of(Tick tick) {
  return static_cast<std::uint64_t>(tick) ^ std::uint64_t{1} << 63;
}

// Sorts by one digit of the key; stable.
void scatter(const std::vector<Item>& from, unsigned shift, std::vector<Item>& to) {
  const auto digit = [shift](const Item& item) { return (item.key >> shift) % kSweepDigits; };
  std::array<std::size_t, kSweepDigits + 1> next{};
  for (const Item& item : from) ++next[digit(item) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (const Item& item : from) to[next[digit(item)]++] = item;
}

void sort_items(std::vector<Item>& items) {
  const auto by_key = [](const Item& a, const Item& b) { return a.key < b.key; };
  if (std::ranges::is_sorted(items, by_key)) return;  // recorded steps are, by first tick
  if (items.size() < kFewSweepItems) return std::stable_sort(items.begin(), items.end(), by_key);
  std::uint64_t differing = 0;
  for (const Item& item : items) differing |= item.key ^ items.front().key;
  std::vector<Item> other(items.size());
  for (unsigned shift = 0; shift < 64; shift += kSweepDigitBits) {
    if ((differing >> shift) % kSweepDigits == 0) continue;
    scatter(items, shift, other);
    std::swap(items, other);
  }
}

// Returns the keys of all blocks in ascending order, equal keys in the order of the blocks.
template <class Key>
std::vector<Item> sorted_by_key(const std::vector<Placed>& placed, Key Placed::*key) {
  std::vector<Item> items(placed.size());
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = {bits_of(placed[i].*key), i};
  sort_items(items);
  return items;
}

}  // namespace

LiveRanks::LiveRanks(std::size_t limit) {
  do {
    limit = (limit + kBits - 1) / kBits;
    levels_.emplace_back(limit, 0);
  } while (limit > 1);
}

void LiveRanks::insert(std::size_t rank) {
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[rank / kBits];
    const bool known = word != 0;
    word |= bit(rank);
    if (known) return;
    rank /= kBits;
  }
}

void LiveRanks::erase(std::size_t rank) {
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[rank / kBits];
    word &= ~bit(rank);
    if (word != 0) return;
    rank /= kBits;
  }
}

// Climbs to the first level with a bit on that side, then descends to the nearest number.
std::optional<std::size_t> LiveRanks::above(std::size_t rank) const {
  for (std::size_t level = 0; level < levels_.size(); ++level, rank /= kBits) {
    const std::uint64_t upper = ~(bit(rank) | (bit(rank) - 1));
    const std::uint64_t word = levels_[level][rank / kBits] & upper;
    if (word == 0) continue;
    rank = rank / kBits * kBits + lowest(word);
    while (level-- > 0) rank = rank * kBits + lowest(levels_[level][rank]);
    return rank;
  }
  return std::nullopt;
}

std::optional<std::size_t> LiveRanks::below(std::size_t rank) const {
  for (std::size_t level = 0; level < levels_.size(); ++level, rank /= kBits) {
    const std::uint64_t word = levels_[level][rank / kBits] & (bit(rank) - 1);
    if (word == 0) continue;
    rank = rank / kBits * kBits + highest(word);
    while (level-- > 0) rank = rank * kBits + highest(levels_[level][rank]);
    return rank;
  }
  return std::nullopt;
}

PlanSweep::PlanSweep(const std::vector<Placed>& placed)
    : placed_(placed), rank_(placed.size()), live_(placed.size()) {
  ranges_.reserve(placed.size());
  for (const auto& [begin, place] : sorted_by_key(placed, &Placed::begin)) {
    rank_[place] = static_cast<std::uint32_t>(ranges_.size());
    ranges_.push_back({begin, placed[place].end, place});
  }
}

std::optional<std::pair<Placed, Placed>> PlanSweep::first_overlap() {
  const std::vector<Item> by_upper = sorted_by_key(placed_, &Placed::upper);
  auto dying = by_upper.begin();
  for (const auto& [lower, place] : sorted_by_key(placed_, &Placed::lower)) {
    for (; dying->key <= lower; ++dying) retire(rank_[dying->place]);
    const std::uint32_t rank = rank_[place];
    if (const auto other = meets(rank)) return std::pair(placed_[*other], placed_[place]);
    live_.insert(rank);
    live_bytes_ += ranges_[rank].end - ranges_[rank].begin;
    most_live_bytes_ = std::max(most_live_bytes_, live_bytes_);
  }
  return std::nullopt;
}

void PlanSweep::retire(std::uint32_t rank) {
  live_.erase(rank);
  live_bytes_ -= ranges_[rank].end - ranges_[rank].begin;
}

std::optional<std::uint32_t> PlanSweep::meets(std::uint32_t rank) const {
  const auto above = live_.above(rank), below = live_.below(rank);
  if (above && ranges_[*above].begin < ranges_[rank].end) return ranges_[*above].place;
  if (below && ranges_[*below].end > ranges_[rank].begin) return ranges_[*below].place;
  return std::nullopt;
}

}  // namespace skyline
