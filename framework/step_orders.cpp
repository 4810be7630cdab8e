#include "framework/step_orders.h"

#include "framework/ops/ranks/rank_sum_ops.h"
#include "memory/alignment.h"
#include "memory/order/placed_order.h"

namespace skyline {
namespace {

// Bounds the memory of programs whose graphs all differ.
constexpr std::size_t kMostOrders = 1024;
// Bounds the time that the first step of a structure takes: some tens of milliseconds.
constexpr std::uint64_t kMostStates = 10'000;

// Sums over ranks run beside other ops.
std::vector<OpId> begins_of_sums(const StepGraph& graph) {
  std::vector<OpId> begins;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    if (begins_rank_sum(graph.ops[op].name)) begins.push_back(op);
  }
  return begins;
}

}  // namespace

StepOrders::StepOrders(std::string algorithm, bool in_place)
    : algorithm_(std::move(algorithm)),
      options_{.in_place = in_place, .alignment = kAlignmentBytes, .state_limit = kMostStates} {}

std::vector<OpId> StepOrders::of(std::uint64_t structure, const std::function<StepGraph()>& make) {
  const std::lock_guard lock(mutex_);
  if (const auto known = orders_.find(structure); known != orders_.end()) return known->second;
  if (orders_.size() >= kMostOrders) orders_.clear();
  const StepGraph graph = make();
  std::vector<OpId> found = order(graph, algorithm_, options_).order;
  return orders_[structure] =
             overlapped_order(graph, std::move(found), begins_of_sums(graph), options_);
}

void StepOrders::forget() {
  const std::lock_guard lock(mutex_);
  orders_.clear();
}

}  // namespace skyline
