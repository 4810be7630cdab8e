#include "train/lab/replay_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/errors.h"
#include "memory/session/session.h"
#include "train/lab/replay_outputs.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

// One allocator on its own device. The device is observed only where somebody listens: what nobody
// takes would pile up.
class ReplayedAllocator {
 public:
  ReplayedAllocator(const std::string& name, const ReplayOptions& options, ReplayOutputs* outputs)
      : device_(options.capacity_bytes), observed_(device_) {
    const bool watched = outputs != nullptr && outputs->watch_replay();
    Device& device = watched ? static_cast<Device&>(observed_) : device_;
    allocator_ = make(name, device, options);
    std::vector<ReplayObserver*> observers;
    if (watched) observers = outputs->observers(name, *allocator_, observed_);
    replay_.emplace(name, *allocator_, device, std::move(observers));
  }

  EventReplay& replay() { return *replay_; }

  ReplayRow row() const {
    const std::vector<Segment> segments = allocator_->segments();
    ReplayRow row{.figures = replay_->figures()};
    if (!segments.empty() || device_.statistics().reserved_bytes == 0) {
      row.segments = segments.size();
    }
    if (const auto* session = dynamic_cast<const Session*>(allocator_.get())) {
      const SessionStatistics totals = session->session_statistics();
      const bool switched = totals.planned_steps > 0;
      if (switched) row.peak_reserved_bytes_since_switch = totals.peak_reserved_bytes_since_switch;
    }
    return row;
  }

 private:
  static std::unique_ptr<Allocator> make(const std::string& name, Device& device,
                                         const ReplayOptions& options) {
    if (name != kPlannedAllocator) return make_allocator(name, device, options.allocator_options);
    return std::make_unique<Session>(device, SessionOptions{.planner = options.planner});
  }

  SimulatedDevice device_;
  ObservedDevice observed_;
  std::unique_ptr<Allocator> allocator_;
  std::optional<EventReplay> replay_;
};

ReplayPlan plan_of(TraceBuilder& collected, const LiveEvents& events, const EventDemand& demand,
                   const ReplayOptions& options) {
  if (options.plan_limit_blocks == 0) return {.plan = {}, .left_out = "its limit of blocks is 0"};
  if (collected.passed_limit()) {
    return {.plan = {},
            .left_out = fmt::format("{} blocks are more than the limit of {} for a plan",
                                    demand.blocks(), options.plan_limit_blocks)};
  }
  if (!demand.lower_bound()) {
    return {.plan = {}, .left_out = "more than 2^63 - 1 bytes are alive at once"};
  }
  try {
    return {.plan = plan(collected.take(events), options.planner,
                         {.time_limit_seconds = options.time_limit_seconds}),
            .left_out = {}};
  } catch (const TraceError& error) {  // a plan's end beyond 2^63 − 1
    return {.plan = {}, .left_out = error.what()};
  }
}

}  // namespace

bool ReplayResult::ran_out_of_memory() const {
  return std::ranges::any_of(rows, [](const ReplayRow& row) { return row.figures.refused > 0; });
}

ReplayResult replay_events(EventReader& reader, const ReplayOptions& options,
                           ReplayOutputs* outputs) {
  std::vector<std::unique_ptr<ReplayedAllocator>> stands;
  for (const std::string& name : options.allocators) {
    stands.push_back(std::make_unique<ReplayedAllocator>(name, options, outputs));
  }
  LiveEvents events(reader);
  EventDemand demand;
  TraceBuilder collected(options.plan_limit_blocks);
  while (events.next()) {
    demand.apply(events);
    collected.apply(events);
    if (outputs != nullptr) outputs->apply(events);
    for (const auto& stand : stands) stand->replay().apply(events);
  }
  ReplayResult result{.rows = {},
                      .events = static_cast<std::uint64_t>(events.ticks()),
                      .steps = events.steps(),
                      .blocks = demand.blocks(),
                      .peak_live_blocks = demand.peak_live_blocks(),
                      .unknown_frees = events.unknown_frees(),
                      .lower_bound = demand.lower_bound(),
                      .capacity_bytes = options.capacity_bytes,
                      .plan = {}};
  for (const auto& stand : stands) {
    stand->replay().finish(events);
    result.rows.push_back(stand->row());
  }
  if (outputs != nullptr) outputs->finish(events);
  result.plan = plan_of(collected, events, demand, options);
  return result;
}

}  // namespace skyline
