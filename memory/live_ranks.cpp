#include "memory/live_ranks.h"

#include <bit>

namespace skyline {
namespace {

constexpr std::size_t kBits = 64;

std::uint64_t bit(std::size_t rank) { return std::uint64_t{1} << (rank % kBits); }

std::size_t lowest(std::uint64_t word) { return static_cast<std::size_t>(std::countr_zero(word)); }

std::size_t highest(std::uint64_t word) {
  return kBits - 1 - static_cast<std::size_t>(std::countl_zero(word));
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

}  // namespace skyline
