#include "memory/planners/skyline/block_tree.h"

#include <algorithm>

namespace skyline {
namespace {

template <class Number, std::size_t kCount>
Number least(const std::array<Number, kCount>& numbers) {
  Number least = numbers[0];
  for (const Number number : numbers) least = std::min(least, number);
  return least;
}

// Inserts a zero after each bit.
std::uint64_t spread(std::int32_t value) {
  std::uint64_t bits = static_cast<std::uint32_t>(value);
  bits = (bits | bits << 16) & 0x0000ffff0000ffffu;
  bits = (bits | bits << 8) & 0x00ff00ff00ff00ffu;
  bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0fu;
  bits = (bits | bits << 2) & 0x3333333333333333u;
  return (bits | bits << 1) & 0x5555555555555555u;
}

// Returns a point's position on the curve, which never decreases in either coordinate.
std::uint64_t curve(std::int32_t lower, std::int32_t upper) {
  return spread(lower) << 1 | spread(upper);
}

std::vector<KeyedIndex> along_curve(const Packing& packing) {
  std::vector<KeyedIndex> blocks(packing.size());
  for (BlockIndex i = 0; i < packing.size(); ++i) {
    blocks[i] = {curve(packing.lower[i], packing.upper[i]), i};
  }
  radix_sort(blocks);
  return blocks;
}

std::size_t groups_of(std::size_t members, std::size_t fan_out) {
  return (members + fan_out - 1) / fan_out;
}

}  // namespace

BlockTree::BlockTree(const Packing& packing) : slot_of_(packing.size()) {
  Leaf none{};
  none.best.fill(kNone);
  leaves_.assign(std::max<std::size_t>(groups_of(packing.size(), kFanOut), 1), none);
  const std::vector<KeyedIndex> blocks = along_curve(packing);
  for (std::uint32_t slot = 0; slot < blocks.size(); ++slot) {
    const BlockIndex block = blocks[slot].index;
    leaves_[slot / kFanOut].lower[slot % kFanOut] = packing.lower[block];
    leaves_[slot / kFanOut].upper[slot % kFanOut] = packing.upper[block];
    slot_of_[block] = slot;
  }
  first_slot_.reserve(packing.ticks.size() + 2);
  std::uint32_t slot = 0;
  for (std::int32_t tick = 0; first_slot_.size() < packing.ticks.size() + 2; ++tick) {
    while (slot < blocks.size() && blocks[slot].key < curve(tick, tick)) ++slot;
    first_slot_.push_back(slot);
  }
  make_levels();
}

void BlockTree::make_levels() {
  std::size_t members = leaves_.size();
  do {
    members = groups_of(members, kFanOut);
    levels_.emplace_back(members);
    for (Group& group : levels_.back()) {
      for (std::size_t i = 0; i < kFanOut; ++i) set(group, i, kNothing);
    }
  } while (members > 1);
}

// Returns the bounds and the best rank of the blocks left in a leaf.
BlockTree::Summary BlockTree::summary(const Leaf& leaf) {
  Summary all = kNothing;
  for (std::size_t i = 0; i < kFanOut; ++i) {
    const bool left = leaf.best[i] != kNone;
    all.min_lower = std::min(all.min_lower, left ? leaf.lower[i] : kHigh);
    all.max_lower = std::max(all.max_lower, left ? leaf.lower[i] : kLow);
    all.min_upper = std::min(all.min_upper, left ? leaf.upper[i] : kHigh);
    all.max_upper = std::max(all.max_upper, left ? leaf.upper[i] : kLow);
    all.best = std::min(all.best, leaf.best[i]);
  }
  return all;
}

// Returns the same for a group.
BlockTree::Summary BlockTree::summary(const Group& group) {
  Summary all = kNothing;
  for (std::size_t i = 0; i < kFanOut; ++i) {
    all.min_lower = std::min(all.min_lower, group.min_lower[i]);
    all.max_lower = std::max(all.max_lower, group.max_lower[i]);
    all.min_upper = std::min(all.min_upper, group.min_upper[i]);
    all.max_upper = std::max(all.max_upper, group.max_upper[i]);
    all.best = std::min(all.best, group.best[i]);
  }
  return all;
}

// Returns false if nothing changed.
bool BlockTree::set(Group& group, std::size_t member, const Summary& all) {
  const Summary before{group.min_lower[member], group.max_lower[member], group.min_upper[member],
                       group.max_upper[member], group.best[member]};
  if (before == all) return false;
  group.min_lower[member] = all.min_lower;
  group.max_lower[member] = all.max_lower;
  group.min_upper[member] = all.min_upper;
  group.max_upper[member] = all.max_upper;
  group.best[member] = all.best;
  return true;
}

void BlockTree::reset(const std::vector<BlockIndex>& order) {
  for (Rank rank = 0; rank < order.size(); ++rank) {
    const std::uint32_t slot = slot_of_[order[rank]];
    leaves_[slot / kFanOut].best[slot % kFanOut] = rank;
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    set(levels_[0][i / kFanOut], i % kFanOut, summary(leaves_[i]));
  }
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const std::vector<Group>& below = levels_[level - 1];
    for (std::size_t i = 0; i < below.size(); ++i) {
      set(levels_[level][i / kFanOut], i % kFanOut, summary(below[i]));
    }
  }
}

// Searches only the part of the curve where such lifetimes lie, down from the smallest group that
// holds it.
BlockTree::Rank BlockTree::find(std::int32_t lower, std::int32_t upper) const {
  std::size_t first = first_slot_[static_cast<std::size_t>(lower)] / kFanOut;
  const std::size_t end = first_slot_[static_cast<std::size_t>(upper) + 1];
  if (first * kFanOut >= end) return kNone;
  std::size_t last = (end - 1) / kFanOut;
  Rank best = kNone;
  if (first == last) {
    search_leaf(first, lower, upper, best);
    return best;
  }
  std::size_t level = 0;
  for (first /= kFanOut, last /= kFanOut; first != last; first /= kFanOut, last /= kFanOut) ++level;
  search(level, first, lower, upper, best);
  return best;
}

// Recurses at most 10 levels deep.
void BlockTree::search(std::size_t level, std::size_t group, std::int32_t lower, std::int32_t upper,
                       Rank& best) const {
  const Group& here = levels_[level][group];
  Eight<Rank> inside, border;  // no branches, so these become vector operations
  for (std::size_t i = 0; i < kFanOut; ++i) {
    const bool all = (here.min_lower[i] >= lower) & (here.max_upper[i] <= upper);
    const bool some = (here.max_lower[i] >= lower) & (here.min_upper[i] <= upper);
    inside[i] = all ? here.best[i] : kNone;
    border[i] = (some & !all) ? here.best[i] : kNone;
  }
  best = std::min(best, least(inside));
  for (Rank next = least(border); next < best; next = least(border)) {
    std::size_t member = 0;  // ranks are unique
    for (std::size_t i = 0; i < kFanOut; ++i) {
      if (border[i] == next) member = i;
    }
    border[member] = kNone;
    const std::size_t below = group * kFanOut + member;
    if (level == 0) {
      search_leaf(below, lower, upper, best);
    } else {
      search(level - 1, below, lower, upper, best);
    }
  }
}

void BlockTree::search_leaf(std::size_t leaf, std::int32_t lower, std::int32_t upper,
                            Rank& best) const {
  const Leaf& here = leaves_[leaf];
  Eight<Rank> inside;
  for (std::size_t i = 0; i < kFanOut; ++i) {
    const bool within = (here.lower[i] >= lower) & (here.upper[i] <= upper);
    inside[i] = within ? here.best[i] : kNone;
  }
  best = std::min(best, least(inside));
}

// Stops at the first level where nothing changes.
void BlockTree::take(BlockIndex block) {
  std::size_t place = slot_of_[block];
  Leaf& leaf = leaves_[place / kFanOut];
  leaf.best[place % kFanOut] = kNone;
  Summary left = summary(leaf);
  for (std::vector<Group>& level : levels_) {
    place /= kFanOut;
    Group& group = level[place / kFanOut];
    if (!set(group, place % kFanOut, left)) return;
    left = summary(group);
  }
}

}  // namespace skyline
