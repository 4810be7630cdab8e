#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "memory/allocator.h"
#include "memory/allocators/allocator_options.h"
#include "memory/device/simulated_device.h"
#include "memory/planners/registry.h"
#include "memory/session/step_plan.h"

namespace skyline {

class Session;

// The allocator that a recording is replayed through, and its device.
struct ReplayChoice {
  std::string allocator;  // a name of the table, no alias; or `planned`
  AllocatorOptions allocator_options = {};
  std::string planner{kDefaultPlanner};              // of `planned`
  PlannerTable planner_table = planners();           // where that name is looked up
  StepPlanner step_planner = {};                     // if set, plans instead of the planner
  std::optional<std::uint64_t> capacity_bytes = {};  // of the device; unset: no limit
  std::size_t commit_bytes = kCommitBytes;           // arenas grow in multiples of it
};

// A fresh allocator on a simulated device of its own.
class ReplayedAllocator {
 public:
  // Throws std::invalid_argument for an unknown name.
  explicit ReplayedAllocator(const ReplayChoice& choice);

  const SimulatedDevice& device() const noexcept { return device_; }
  Allocator& get() noexcept { return *allocator_; }
  const Allocator& get() const noexcept { return *allocator_; }
  Session* session() noexcept { return session_; }  // null unless `planned`
  const Session* session() const noexcept { return session_; }

 private:
  SimulatedDevice device_;
  std::unique_ptr<Allocator> allocator_;
  Session* session_ = nullptr;
};

}  // namespace skyline
