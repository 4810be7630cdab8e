#include "memory/session.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace skyline {
namespace {

void require(bool holds, const std::string& problem) {
  if (!holds) throw std::invalid_argument("[session] " + problem);
}

bool known_planner(const std::string& name) {
  return std::any_of(planners().begin(), planners().end(),
                     [&](const PlannerEntry& entry) { return entry.name == name; });
}

}  // namespace

Session::Session(Device& device, SessionOptions options)
    : options_(std::move(options)),
      pool_(device),
      unbounded_fallback_(device),
      fallback_(unbounded_fallback_, options_.fallback_limit_bytes),
      arena_(device, pool_, fallback_, options_.address_bytes) {
  require(known_planner(options_.planner), "unknown planner " + options_.planner);
  require(options_.warmup_steps >= 1, "got no warm-up step, expected at least 1");
  require(options_.max_shapes >= 1, "got no shape to keep, expected at least 1");
  require(options_.plan.alignment > 0 && options_.plan.alignment % kAlignmentBytes == 0,
          "got alignment " + std::to_string(options_.plan.alignment) + ", expected a multiple of " +
              std::to_string(kAlignmentBytes));
}

void Session::begin_step(ShapeKey key) {
  arena_.settle();
  learn();
  if (arena_.moved() && arena_.overdue_blocks() == 0) arena_.commit(largest_peak_bytes(nullptr));
  Shape& shape = shape_for(key);
  current_ = &shape;
  key_ = key;
  arena_.install(shape.layout);
  arena_.begin_step(key);
  running_ = &shape;
  ++totals_.steps;
  if (shape.layout) ++totals_.planned_steps;
}

void Session::adopt(const Trace& trace, ShapeKey key) {
  if (arena_.in_step()) throw std::logic_error("[session] adopt inside a step");
  arena_.settle();
  learn();
  Shape& shape = shape_for(key);
  Shape planned = make_plan(requests_of(trace));
  SessionEvent event = event_before(planned);
  event.shape_key = key;
  commit_for(shape, planned);
  enter_plan(shape, std::move(planned), std::move(event));
}

// --- what a step showed ---

void Session::learn() {
  Shape* shape = std::exchange(running_, nullptr);
  if (shape == nullptr) return;
  if (arena_.log().was_cut()) ++totals_.abandoned_steps;
  if (arena_.log().empty()) return;
  if (shape->layout) {
    learn_deviations(*shape);
  } else if (totals_.steps >= static_cast<std::uint64_t>(options_.warmup_steps)) {
    learn_recording(*shape);
  }
}

void Session::learn_recording(Shape& shape) {
  const StepLog& log = arena_.log();
  if (log.was_cut()) return;
  std::vector<StepRequest> requests = merged({}, log);
  if (log.refusals() > 0 && !same_demand(requests, shape.doubtful)) {
    shape.doubtful = std::move(requests);
    return;
  }
  replan(shape, std::move(requests));
}

void Session::learn_deviations(Shape& shape) {
  const StepLog& log = arena_.log();
  ++totals_.deviating_steps;
  totals_.deviations += log.observations().size();
  SessionEvent event{.kind = SessionEvent::Kind::kDeviated,
                     .step = totals_.steps - 1,
                     .shape_key = key_,
                     .arena_bytes = arena_bytes(),
                     .deviation = first_deviation(shape)};
  tell(event);
  std::vector<StepRequest> requests = merged(shape.requests, log);
  if (!same_demand(requests, shape.requests)) {
    replan(shape, std::move(requests));
  } else if (log.has(Deviation::kOverlapsOverdue)) {
    move_off_survivors();
  }
}

DeviationFacts Session::first_deviation(const Shape& shape) const {
  const std::vector<Observation>& seen = arena_.log().observations();
  DeviationFacts facts{.request = seen.front().request,
                       .kind = seen.front().kind,
                       .refused = seen.front().refused,
                       .bytes = seen.front().bytes,
                       .tag = seen.front().tag,
                       .count = seen.size()};
  if (facts.request < shape.layout->slots.size()) {
    const StepSlot& slot = shape.layout->slots[facts.request];
    if (slot.planned()) facts.planned_bytes = slot.bytes();
    if (facts.tag == BlockTag{}) facts.tag = shape.requests[facts.request].tag;
  }
  return facts;
}

// --- plans ---

Session::Shape Session::make_plan(std::vector<StepRequest> requests) {
  Shape planned{.requests = std::move(requests)};
  planned.step = canonical_step(planned.requests);
  planned.plan = skyline::plan(planned.step.trace, options_.planner, options_.plan);
  planned.layout = std::make_shared<const StepLayout>(make_layout(planned.step, planned.plan));
  totals_.planning_seconds += planned.plan.seconds;
  totals_.last_planning_seconds = planned.plan.seconds;
  return planned;
}

void Session::replan(Shape& shape, std::vector<StepRequest> requests) {
  Shape planned = make_plan(std::move(requests));
  SessionEvent event = event_before(planned);
  try {
    commit_for(shape, planned);
  } catch (const OutOfMemory& refusal) {
    ++totals_.failed_replans;
    event.kind = SessionEvent::Kind::kReplanFailed;
    event.problem = refusal.what();
    event.arena_bytes = arena_bytes();
    event.reserved_bytes_after = statistics().reserved_bytes;
    return tell(event);
  }
  enter_plan(shape, std::move(planned), std::move(event));
}

// What the pools cache is the arena's now.
void Session::commit_for(const Shape& replaced, const Shape& planned) {
  arena_.release_cached();
  arena_.commit(std::max(planned.layout->peak_bytes, largest_peak_bytes(&replaced)));
}

// Nothing new to plan, but blocks that stay hold bytes of the plan.
void Session::move_off_survivors() {
  try {
    arena_.commit_around_survivors(largest_peak_bytes(nullptr));
  } catch (const OutOfMemory&) {
    // The fallback goes on serving what lies over them.
  }
}

std::uint64_t Session::largest_peak_bytes(const Shape* except) const {
  std::uint64_t bytes = 0;
  for (const auto& [key, shape] : shapes_) {
    if (&shape != except && shape.layout) bytes = std::max(bytes, shape.layout->peak_bytes);
  }
  return bytes;
}

void Session::enter_plan(Shape& shape, Shape planned, SessionEvent event) {
  planned.last_used = shape.last_used;
  shape = std::move(planned);
  if (switched_) {
    ++totals_.replans;
  } else {
    switched_ = true;
    device_allocations_at_switch_ = statistics().device_allocations;
    arena_.restart_peak();
    event.kind = SessionEvent::Kind::kSwitched;
  }
  event.arena_bytes = arena_bytes();
  event.reserved_bytes_after = statistics().reserved_bytes;
  tell(event);
}

SessionEvent Session::event_before(const Shape& planned) const {
  return {.kind = SessionEvent::Kind::kReplanned,
          .step = totals_.steps,
          .shape_key = key_,
          .blocks = planned.step.trace.size(),
          .lower_bound = planned.plan.lower_bound,
          .peak = planned.plan.peak,
          .gap = planned.plan.gap(),
          .proved_optimal = planned.plan.proved_optimal,
          .planning_seconds = planned.plan.seconds,
          .reserved_bytes_before = statistics().reserved_bytes,
          .pool_peak_reserved_bytes = pool_.statistics().peak_reserved_bytes};
}

void Session::tell(const SessionEvent& event) const {
  if (options_.listener) options_.listener(event);
}

// --- shapes ---

Session::Shape& Session::shape_for(ShapeKey key) {
  if (options_.policy != ShapePolicy::kPerShape) key = 0;
  if (!shapes_.contains(key) && shapes_.size() >= options_.max_shapes) forget_oldest_shape();
  Shape& shape = shapes_[key];
  shape.last_used = ++uses_;
  return shape;
}

void Session::forget_oldest_shape() {
  const auto oldest = std::min_element(
      shapes_.begin(), shapes_.end(),
      [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; });
  if (current_ == &oldest->second) current_ = nullptr;
  shapes_.erase(oldest);
}

Session::State Session::state() const noexcept {
  return current_ != nullptr && current_->layout ? State::kPlanned : State::kWarmUp;
}

const Trace& Session::trace() const noexcept {
  static const Trace none;
  return current_ != nullptr ? current_->step.trace : none;
}

const Plan& Session::plan() const noexcept {
  static const Plan none;
  return current_ != nullptr ? current_->plan : none;
}

SessionStatistics Session::session_statistics() const {
  SessionStatistics figures = totals_;
  figures.planned_requests = arena_.planned_requests();
  figures.fallback_requests = arena_.fallback_requests();
  figures.pool_calls = arena_.pool_calls();
  figures.peak_fallback_reserved_bytes = fallback_.statistics().peak_reserved_bytes;
  if (switched_) {
    figures.device_allocations_since_switch =
        statistics().device_allocations - device_allocations_at_switch_;
    figures.peak_reserved_bytes_since_switch = arena_.recent_peak_reserved_bytes();
  }
  return figures;
}

}  // namespace skyline
