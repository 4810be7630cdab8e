#include "memory/planners/block_tree.h"

#include <algorithm>
#include <bit>

namespace skyline {
namespace {

constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kHigh = std::numeric_limits<std::int32_t>::max();

}  // namespace

BlockTree::BlockTree(const Packing& packing) {
  const std::vector<BlockIndex> curve = along_curve(packing);
  leaves_ = std::bit_ceil((packing.size() + kLeafBlocks - 1) / kLeafBlocks + 1);
  slots_.assign(leaves_ * kLeafBlocks, Slot{kHigh, kHigh, kNone});
  slot_of_.resize(packing.size());
  block_at_.resize(packing.size());
  for (std::uint32_t slot = 0; slot < curve.size(); ++slot) {
    const BlockIndex block = curve[slot];
    slots_[slot] = {packing.lower[block], packing.upper[block], kNone};
    block_at_[slot] = block;
    slot_of_[block] = slot;
  }
  nodes_.resize(2 * leaves_);
}

BlockTree::Node BlockTree::summary_of_leaf(std::size_t leaf) const {
  Node node{kHigh, kLow, kHigh, kLow, kNone};
  for (std::size_t i = leaf * kLeafBlocks; i < (leaf + 1) * kLeafBlocks; ++i) {
    const Slot& slot = slots_[i];
    if (slot.rank == kNone) continue;
    node.min_lower = std::min(node.min_lower, slot.lower);
    node.max_lower = std::max(node.max_lower, slot.lower);
    node.min_upper = std::min(node.min_upper, slot.upper);
    node.max_upper = std::max(node.max_upper, slot.upper);
    node.best = std::min(node.best, slot.rank);
  }
  return node;
}

namespace {

template <class Node>
Node joined(const Node& a, const Node& b) {
  return {std::min(a.min_lower, b.min_lower), std::max(a.max_lower, b.max_lower),
          std::min(a.min_upper, b.min_upper), std::max(a.max_upper, b.max_upper),
          std::min(a.best, b.best)};
}

}  // namespace

void BlockTree::reset(const std::vector<BlockIndex>& order) {
  for (Rank rank = 0; rank < order.size(); ++rank) slots_[slot_of_[order[rank]]].rank = rank;
  for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
    nodes_[leaves_ + leaf] = summary_of_leaf(leaf);
  }
  for (std::size_t n = leaves_ - 1; n > 0; --n)
    nodes_[n] = joined(nodes_[2 * n], nodes_[2 * n + 1]);
}

BlockTree::Rank BlockTree::find(std::int32_t lower, std::int32_t upper) const {
  Rank best = kNone;
  search(1, lower, upper, best);
  return best;
}

// As deep as the tree: at most 28 calls.
void BlockTree::search(std::size_t node, std::int32_t lower, std::int32_t upper, Rank& best) const {
  const Node& here = nodes_[node];
  if (here.best >= best || here.max_lower < lower || here.min_upper > upper) return;
  if (here.min_lower >= lower && here.max_upper <= upper) {
    best = here.best;
    return;
  }
  if (node >= leaves_) return search_leaf(node - leaves_, lower, upper, best);
  const std::size_t first = nodes_[2 * node].best < nodes_[2 * node + 1].best ? 0 : 1;
  search(2 * node + first, lower, upper, best);
  search(2 * node + 1 - first, lower, upper, best);
}

void BlockTree::search_leaf(std::size_t leaf, std::int32_t lower, std::int32_t upper,
                            Rank& best) const {
  for (std::size_t i = leaf * kLeafBlocks; i < (leaf + 1) * kLeafBlocks; ++i) {
    const Slot& slot = slots_[i];
    if (slot.rank < best && slot.lower >= lower && slot.upper <= upper) best = slot.rank;
  }
}

void BlockTree::take(BlockIndex block) {
  const std::size_t slot = slot_of_[block];
  slots_[slot].rank = kNone;
  std::size_t node = leaves_ + slot / kLeafBlocks;
  nodes_[node] = summary_of_leaf(slot / kLeafBlocks);
  for (node /= 2; node > 0; node /= 2)
    nodes_[node] = joined(nodes_[2 * node], nodes_[2 * node + 1]);
}

}  // namespace skyline
