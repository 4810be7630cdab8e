#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace skyline {

// Maximum flows in sparse networks (Dinic 1970: shortest augmenting paths, a level graph at a
// time). Without recursion; memory is reused from network to network. Capacities other than
// kUnlimited must sum to less than it.
class MaxFlow {
 public:
  using Node = std::uint32_t;
  using Arc = std::uint32_t;
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max() / 2;

  // Begins a network of `nodes` nodes without arcs.
  void reset(std::size_t nodes);
  Node add_node();
  Arc add_arc(Node from, Node to, std::uint64_t capacity);

  // Returns the value of a maximum flow, or of one that is at least `enough`. Every path from
  // source to sink must have an arc of limited capacity.
  std::uint64_t run(Node source, Node sink, std::uint64_t enough = kUnlimited);

  std::uint64_t flow(Arc arc) const { return given_[arc].capacity - arcs_[place_[arc]].left; }
  // After run() to the maximum: the node is on the source's side of the minimum cut whose source
  // side is smallest.
  bool on_source_side(Node node) const { return level_[node] != kFar; }

 private:
  struct Given {
    Node from, to;
    std::uint64_t capacity;
  };
  struct Residual {
    Node to;
    std::uint32_t back;  // place of the opposite arc
    std::uint64_t left;  // capacity left
  };
  static constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

  void link();
  bool level(Node source, Node sink);
  std::uint64_t augment(Node source, Node sink);

  std::size_t nodes_ = 0;
  std::vector<Given> given_;
  std::vector<std::uint32_t> place_;  // of a given arc in arcs_
  std::vector<Residual> arcs_;        // by node
  std::vector<std::uint32_t> first_;  // by node, and an end
  std::vector<std::uint32_t> next_;   // by node: the arc to try next
  std::vector<std::uint32_t> level_;
  std::vector<Node> queue_;
  std::vector<std::uint32_t> path_;  // arcs
};

}  // namespace skyline
