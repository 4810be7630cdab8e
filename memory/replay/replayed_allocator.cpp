#include "memory/replay/replayed_allocator.h"

#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/session/session.h"

namespace skyline {

ReplayedAllocator::ReplayedAllocator(const ReplayChoice& choice)
    : device_(choice.capacity_bytes, choice.commit_bytes) {
  if (choice.allocator != kPlannedAllocator) {
    allocator_ = make_allocator(choice.allocator, device_, choice.allocator_options);
    return;
  }
  auto session =
      std::make_unique<Session>(device_, SessionOptions{.planner = choice.planner,
                                                        .planner_table = choice.planner_table,
                                                        .step_planner = choice.step_planner});
  session_ = session.get();
  allocator_ = std::move(session);
}

}  // namespace skyline
