#include "framework/step_orders.h"

#include <utility>

#include "memory/alignment.h"

namespace skyline {
namespace {

// Bounds the memory of programs whose graphs all differ.
constexpr std::size_t kMostOrders = 1024;
// Bounds the time that the first step of a structure takes: some tens of milliseconds.
constexpr std::uint64_t kMostStates = 10'000;

}  // namespace

StepOrders::StepOrders(std::string algorithm, bool in_place)
    : algorithm_(std::move(algorithm)),
      options_{.in_place = in_place, .alignment = kAlignmentBytes, .state_limit = kMostStates} {}

std::vector<OpId> StepOrders::of(std::uint64_t structure, const std::function<StepGraph()>& make) {
  const std::lock_guard lock(mutex_);
  if (const auto known = orders_.find(structure); known != orders_.end()) return known->second;
  if (orders_.size() >= kMostOrders) orders_.clear();
  return orders_[structure] = order(make(), algorithm_, options_).order;
}

}  // namespace skyline
