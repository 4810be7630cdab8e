#include "memory/replay/trace_replay.h"

#include <algorithm>
#include <vector>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

struct Event {
  Tick tick = 0;
  bool allocation = false;
  std::size_t block = 0;
};

// Allocations and frees in the order in which they were recorded; frees of one tick come first.
std::vector<Event> events_of(const Trace& trace) {
  std::vector<Event> events;
  events.reserve(2 * trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    events.push_back({trace.blocks[i].lower, true, i});
    events.push_back({trace.blocks[i].upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.allocation < b.allocation;
  });
  return events;
}

}  // namespace

TraceReplay replay_trace(const Trace& trace, std::string_view allocator_name,
                         const AllocatorOptions& options) {
  SimulatedDevice device;
  const auto allocator = make_allocator(allocator_name, device, options);
  TraceReplay replay;
  replay.curve.name = allocator_name;
  std::vector<Block> blocks(trace.size());
  allocator->begin_step(0);
  for (const Event& event : events_of(trace)) {
    if (event.allocation) {
      blocks[event.block] =
          allocator->allocate(trace.blocks[event.block].bytes,
                              trace.tags.empty() ? Tag{} : trace.tags[event.block].view());
    } else {
      blocks[event.block].reset();
    }
    const Statistics now = allocator->statistics();
    replay.curve.points.push_back({event.tick, now.reserved_bytes, now.requested_bytes});
  }
  allocator->end_step();
  replay.statistics = allocator->statistics();
  return replay;
}

AllocatorCurve planned_curve(const Trace& trace, const Plan& plan) {
  AllocatorCurve curve{.name = "planned", .points = {}};
  std::uint64_t live_bytes = 0;
  for (const Event& event : events_of(trace)) {
    const std::uint64_t bytes = trace.blocks[event.block].bytes;
    live_bytes = event.allocation ? live_bytes + bytes : live_bytes - bytes;
    curve.points.push_back({event.tick, plan.peak, live_bytes});
  }
  return curve;
}

}  // namespace skyline
