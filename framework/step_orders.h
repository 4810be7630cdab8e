#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/order/order.h"

namespace skyline {

// In which sequence a run's steps execute the ops that may move: the backward pass and the updates.
// A sequence is found once for each structure of graph, whatever its sizes, so that all batches of
// a program make the same requests in the same sequence. Sums over ranks begin as early and are
// waited for as late as the sequence's peak permits.
class StepOrders {
 public:
  // One of order_algorithms().
  explicit StepOrders(std::string algorithm, bool in_place = true);
  virtual ~StepOrders() = default;

  // Returns the sequence of the ops of a graph with this structure; `make` builds the graph if it
  // is the first. Throws std::invalid_argument for an unknown algorithm. Safe on several threads.
  virtual std::vector<OpId> of(std::uint64_t structure, const std::function<StepGraph()>& make);
  // The next steps find their sequences anew, for their own sizes.
  virtual void forget();

 protected:
  StepOrders() = default;

 private:
  std::mutex mutex_;
  std::string algorithm_;
  OrderOptions options_;
  std::unordered_map<std::uint64_t, std::vector<OpId>> orders_;
};

// Asks other orders and notes the sequences that they return. One thread at a time.
class NotedOrders final : public StepOrders {
 public:
  explicit NotedOrders(std::shared_ptr<StepOrders> upstream) : upstream_(std::move(upstream)) {}

  std::vector<OpId> of(std::uint64_t structure, const std::function<StepGraph()>& make) override {
    return noted_.emplace_back(upstream_->of(structure, make));
  }
  void forget() override { upstream_->forget(); }
  // Returns the sequences asked for since the last call.
  std::vector<std::vector<OpId>> take() { return std::exchange(noted_, {}); }

 private:
  std::shared_ptr<StepOrders> upstream_;
  std::vector<std::vector<OpId>> noted_;
};

}  // namespace skyline
