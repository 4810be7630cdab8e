#include "memory/order/search/max_flow.h"

#include <algorithm>

namespace skyline {

void MaxFlow::reset(std::size_t nodes) {
  nodes_ = nodes;
  given_.clear();
}

MaxFlow::Node MaxFlow::add_node() { return static_cast<Node>(nodes_++); }

MaxFlow::Arc MaxFlow::add_arc(Node from, Node to, std::uint64_t capacity) {
  given_.push_back({from, to, capacity});
  return static_cast<Arc>(given_.size() - 1);
}

// Lays the arcs out by node, each beside those that leave the same node.
void MaxFlow::link() {
  first_.assign(nodes_ + 1, 0);
  for (const Given& arc : given_) {
    ++first_[arc.from];
    ++first_[arc.to];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& first : first_) {
    const std::uint32_t count = first;
    first = sum;
    sum += count;
  }
  next_.assign(first_.begin(), first_.end() - 1);
  arcs_.resize(sum);
  place_.resize(given_.size());
  for (Arc k = 0; k < given_.size(); ++k) {
    const Given& arc = given_[k];
    const std::uint32_t there = next_[arc.from]++, back = next_[arc.to]++;
    arcs_[there] = {arc.to, back, arc.capacity};
    arcs_[back] = {arc.from, there, 0};
    place_[k] = there;
  }
}

// Counts arcs from the source by breadth. Returns true if the sink can be reached.
bool MaxFlow::level(Node source, Node sink) {
  level_.assign(nodes_, kFar);
  level_[source] = 0;
  queue_.assign(1, source);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const Node node = queue_[i];
    for (std::uint32_t a = first_[node]; a < first_[node + 1]; ++a) {
      if (arcs_[a].left == 0 || level_[arcs_[a].to] != kFar) continue;
      level_[arcs_[a].to] = level_[node] + 1;
      if (arcs_[a].to == sink) return true;
      queue_.push_back(arcs_[a].to);
    }
  }
  return false;
}

// Sends flow along one shortest path; returns 0 if there is none left in this level graph.
std::uint64_t MaxFlow::augment(Node source, Node sink) {
  path_.clear();
  Node node = source;
  while (node != sink) {
    std::uint32_t& a = next_[node];
    while (a < first_[node + 1] &&
           (arcs_[a].left == 0 || level_[arcs_[a].to] != level_[node] + 1)) {
      ++a;
    }
    if (a < first_[node + 1]) {
      path_.push_back(a);
      node = arcs_[a].to;
    } else if (path_.empty()) {
      return 0;
    } else {
      node = arcs_[arcs_[path_.back()].back].to;
      path_.pop_back();
      ++next_[node];
    }
  }
  std::uint64_t most = kUnlimited;
  for (const std::uint32_t a : path_) most = std::min(most, arcs_[a].left);
  for (const std::uint32_t a : path_) {
    arcs_[a].left -= most;
    arcs_[arcs_[a].back].left += most;
  }
  return most;
}

std::uint64_t MaxFlow::run(Node source, Node sink, std::uint64_t enough) {
  link();
  std::uint64_t value = 0;
  while (value < enough && level(source, sink)) {
    next_.assign(first_.begin(), first_.end() - 1);
    while (const std::uint64_t more = augment(source, sink)) {
      value += more;
      if (value >= enough) break;
    }
  }
  return value;
}

}  // namespace skyline
