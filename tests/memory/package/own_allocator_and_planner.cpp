// An allocator and a planner of one's own, measured beside Skyline's.
#include <fmt/format.h>

#include <vector>

#include "memory/allocators/account.h"
#include "memory/device/simulated_device.h"
#include "memory/planners/registry.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_events.h"

using namespace skyline;

// Asks the device for every request and keeps nothing.
class Direct final : public Allocator {
 public:
  explicit Direct(Device& device) : device_(device) {}
  Extent acquire(std::size_t bytes, const Tag&) override {
    std::byte* address = device_.allocate(bytes);  // throws OutOfMemory
    account_.taken_from_device(bytes);
    account_.served(bytes, bytes);
    return {address, bytes};
  }
  void release(const Extent& extent) noexcept override {
    device_.deallocate(extent.address, extent.bytes);
    account_.released(extent.bytes, extent.bytes);
    account_.given_to_device(extent.bytes);
  }
  Statistics statistics() const override { return account_.now(); }

 private:
  Device& device_;
  Account account_;
};

// Places every block above all earlier ones.
Plan stacked(const Trace& trace, const PlanOptions& options) {
  Plan plan{.lower_bound = lower_bound_bytes(trace, options.alignment),
            .alignment = options.alignment,
            .planner = "stacked"};
  for (const TraceBlock& block : trace.blocks) {
    plan.offsets.push_back(plan.peak);
    plan.peak += align_checked(block.bytes, options.alignment);
  }
  plan.proved_bound = plan.lower_bound;
  plan.proved_optimal = plan.peak == plan.lower_bound;
  return plan;
}

std::size_t replayed_peak(const Trace& trace) {
  SimulatedDevice device;
  Direct allocator(device);
  TraceEventReader reader(trace, "the example");
  LiveEvents events(reader);
  EventReplay replay("direct", allocator, device);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  return replay.figures().end.peak_reserved_bytes;
}

int main() {
  const Trace trace{.blocks = {{0, 2, 1000}, {1, 3, 500}, {2, 4, 1000}}};
  const std::vector<PlannerEntry> table{{"stacked", "above all earlier blocks", stacked}};
  fmt::print("direct {}, stacked {}, portfolio {}\n", replayed_peak(trace),
             plan(trace, "stacked", {}, table).peak, plan(trace).peak);
}
