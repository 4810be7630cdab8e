#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/order/order.h"

namespace skyline {

// In which sequence a run's steps execute the ops that may move: the backward pass and the updates.
// A sequence is found once for each structure of graph, whatever its sizes, so that all batches of
// a program make the same requests in the same sequence.
class StepOrders {
 public:
  // One of order_algorithms().
  explicit StepOrders(std::string algorithm, bool in_place = true);

  // Returns the sequence of the ops of a graph with this structure; `make` builds the graph if it
  // is the first. Throws std::invalid_argument for an unknown algorithm. Safe on several threads.
  std::vector<OpId> of(std::uint64_t structure, const std::function<StepGraph()>& make);

 private:
  std::mutex mutex_;
  std::string algorithm_;
  OrderOptions options_;
  std::unordered_map<std::uint64_t, std::vector<OpId>> orders_;
};

}  // namespace skyline
