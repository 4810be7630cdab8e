#include "memory/plan_sweep.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace skyline {
namespace {

struct Item {
  std::uint64_t key;
  std::uint32_t place;
};

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kFewItems = 2 * kDigits;  // below it, comparing is faster than counting

std::uint64_t bits_of(std::uint64_t address) { return address; }
// Maps ticks to numbers in the same order.
std::uint64_t bits_of(Tick tick) {
  return static_cast<std::uint64_t>(tick) ^ std::uint64_t{1} << 63;
}

// Sorts by one digit of the key; stable.
void scatter(const std::vector<Item>& from, unsigned shift, std::vector<Item>& to) {
  const auto digit = [shift](const Item& item) { return (item.key >> shift) % kDigits; };
  std::array<std::size_t, kDigits + 1> next{};
  for (const Item& item : from) ++next[digit(item) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (const Item& item : from) to[next[digit(item)]++] = item;
}

void sort_items(std::vector<Item>& items) {
  const auto by_key = [](const Item& a, const Item& b) { return a.key < b.key; };
  if (std::ranges::is_sorted(items, by_key)) return;  // recorded steps are, by first tick
  if (items.size() < kFewItems) return std::stable_sort(items.begin(), items.end(), by_key);
  std::uint64_t differing = 0;
  for (const Item& item : items) differing |= item.key ^ items.front().key;
  std::vector<Item> other(items.size());
  for (unsigned shift = 0; shift < 64; shift += kDigitBits) {
    if ((differing >> shift) % kDigits == 0) continue;
    scatter(items, shift, other);
    std::swap(items, other);
  }
}

// Returns the positions by ascending key, those with equal keys in their order.
template <class Key>
std::vector<std::uint32_t> order_by(const std::vector<Placed>& placed, Key Placed::*key) {
  std::vector<Item> items(placed.size());
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = {bits_of(placed[i].*key), i};
  sort_items(items);
  std::vector<std::uint32_t> order(items.size());
  std::ranges::transform(items, order.begin(), &Item::place);
  return order;
}

}  // namespace

PlanSweep::PlanSweep(const std::vector<Placed>& placed)
    : placed_(placed),
      by_begin_(order_by(placed, &Placed::begin)),
      rank_(placed.size()),
      live_(placed.size()) {
  for (std::uint32_t rank = 0; rank < by_begin_.size(); ++rank) rank_[by_begin_[rank]] = rank;
}

std::optional<std::pair<Placed, Placed>> PlanSweep::first_overlap() {
  const std::vector<std::uint32_t> by_upper = order_by(placed_, &Placed::upper);
  auto dying = by_upper.begin();
  for (const std::uint32_t place : order_by(placed_, &Placed::lower)) {
    const Placed& block = placed_[place];
    for (; placed_[*dying].upper <= block.lower; ++dying) retire(*dying);
    if (const Placed* other = meets(place)) return std::pair(*other, block);
    live_.insert(rank_[place]);
    live_bytes_ += block.end - block.begin;
    most_live_bytes_ = std::max(most_live_bytes_, live_bytes_);
  }
  return std::nullopt;
}

void PlanSweep::retire(std::uint32_t place) {
  live_.erase(rank_[place]);
  live_bytes_ -= placed_[place].end - placed_[place].begin;
}

const Placed* PlanSweep::meets(std::uint32_t place) const {
  const Placed& block = placed_[place];
  if (const auto above = live_.above(rank_[place])) {
    const Placed& other = placed_[by_begin_[*above]];
    if (other.begin < block.end) return &other;
  }
  if (const auto below = live_.below(rank_[place])) {
    const Placed& other = placed_[by_begin_[*below]];
    if (other.end > block.begin) return &other;
  }
  return nullptr;
}

}  // namespace skyline
