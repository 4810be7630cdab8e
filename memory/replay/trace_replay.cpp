#include "memory/replay/trace_replay.h"

#include "memory/device/simulated_device.h"
#include "memory/replay/trace_events.h"

namespace skyline {

TraceReplay replay_trace(const Trace& trace, Allocator& allocator) {
  TraceReplay replay;
  std::vector<Block> blocks(trace.size());
  allocator.begin_step(0);
  for (const TraceEvent& event : trace_events(trace)) {
    if (event.allocation) {
      blocks[event.block] =
          allocator.allocate(trace.blocks[event.block].bytes,
                             trace.tags.empty() ? Tag{} : trace.tags[event.block].view());
    } else {
      blocks[event.block].reset();
    }
    const Statistics now = allocator.statistics();
    replay.curve.points.push_back({event.tick, now.reserved_bytes, now.requested_bytes});
  }
  allocator.end_step();
  replay.statistics = allocator.statistics();
  return replay;
}

TraceReplay replay_trace(const Trace& trace, std::string_view allocator,
                         const AllocatorOptions& options) {
  SimulatedDevice device;
  const auto made = make_allocator(allocator, device, options);
  TraceReplay replay = replay_trace(trace, *made);
  replay.curve.name = allocator;
  return replay;
}

AllocatorCurve planned_curve(const Trace& trace, const Plan& plan) {
  AllocatorCurve curve{.name = "planned", .points = {}};
  std::uint64_t live_bytes = 0;
  for (const TraceEvent& event : trace_events(trace)) {
    const std::uint64_t bytes = trace.blocks[event.block].bytes;
    live_bytes = event.allocation ? live_bytes + bytes : live_bytes - bytes;
    curve.points.push_back({event.tick, plan.peak, live_bytes});
  }
  return curve;
}

}  // namespace skyline
