#include "memory/session/session.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "memory/adaptors/adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/errors.h"
#include "memory/now_seconds.h"
#include "memory/session/arena.h"
#include "memory/session/plan.h"
#include "memory/session/recording.h"
#include "memory/session/shape_table.h"
#include "memory/validator.h"

namespace skyline {
namespace {

void require(bool holds, const std::string& problem) {
  if (!holds) throw std::invalid_argument("[session] " + problem);
}

bool known_planner(PlannerTable table, const std::string& name) {
  return std::ranges::find(table, name, &PlannerEntry::name) != table.end();
}

// plan() validates its plans; a caller's planner is validated here.
StepPlanner planner_of(const SessionOptions& options) {
  if (!options.step_planner) {
    return [name = options.planner, plan_options = options.plan, table = options.planner_table](
               const Trace& trace) { return plan(trace, name, plan_options, table); };
  }
  return [planner = options.step_planner](const Trace& trace) {
    Plan made = planner(trace);
    const double planned = now_seconds();
    const Validity verdict = validate(trace, made);
    made.validation_seconds = now_seconds() - planned;
    if (!verdict.valid) {
      throw std::logic_error("[session] the step planner's plan is invalid: " + verdict.reason);
    }
    return made;
  };
}

bool same_requests(const StepRecording& a, const StepRecording& b) {
  return a.matching == b.matching && same_requests(a.requests, b.requests);
}

// Adds its own lifetime to the stalled seconds.
class StallClock {
 public:
  StallClock(SessionStatistics& totals, bool counts) : totals_(totals), counts_(counts) {}
  ~StallClock() {
    if (!counts_) return;
    const double seconds = now_seconds() - start_;
    totals_.stalled_seconds += seconds;
    totals_.longest_stall_seconds = std::max(totals_.longest_stall_seconds, seconds);
  }
  StallClock(const StallClock&) = delete;
  StallClock& operator=(const StallClock&) = delete;

 private:
  SessionStatistics& totals_;
  bool counts_;
  double start_ = now_seconds();
};

}  // namespace

struct Session::Parts {
  Parts(Device& device, const SessionOptions& options)
      : pool(device),
        unbounded_fallback(device),
        fallback(unbounded_fallback, options.fallback_limit_bytes),
        arena(device, pool, fallback, options.address_bytes),
        shapes(options.policy == ShapePolicy::kPerShape ? options.max_shapes
                                                        : std::numeric_limits<std::size_t>::max()) {
  }

  BestFitPool pool;
  BestFitPool unbounded_fallback;
  LimitAdaptor fallback;
  Arena arena;
  ShapeTable shapes;
  BackgroundPlanner worker;
};

Session::Session(Device& device, SessionOptions options)
    : options_(std::move(options)),
      planner_(planner_of(options_)),
      background_(options_.background.value_or(device.has_memory() &&
                                               std::thread::hardware_concurrency() > 1)),
      parts_(std::make_unique<Parts>(device, options_)),
      arena_(parts_->arena) {
  require(known_planner(options_.planner_table, options_.planner),
          "unknown planner " + options_.planner);
  require(options_.warmup_steps >= 1, "got no warm-up step, expected at least 1");
  require(options_.max_shapes >= 1, "got no shape to keep, expected at least 1");
  require(options_.plan.alignment > 0 && options_.plan.alignment % kAlignmentBytes == 0,
          "got alignment " + std::to_string(options_.plan.alignment) + ", expected a multiple of " +
              std::to_string(kAlignmentBytes));
  if (options_.policy == ShapePolicy::kPerShape) return;
  arena_.lend_beside_plan(options_.matching == Matching::kByTag &&
                          options_.fallback_limit_bytes == std::numeric_limits<std::size_t>::max());
}

Session::~Session() = default;

// --- the arena's ---

Extent Session::acquire(std::size_t bytes, const Tag& tag) { return arena_.acquire(bytes, tag); }
void Session::release(const Extent& extent) noexcept { arena_.release(extent); }
Statistics Session::statistics() const { return arena_.statistics(); }
void Session::end_step() { arena_.end_step(); }
void Session::abandon_step() { arena_.abandon_step(); }
void Session::interrupt() { arena_.interrupt(); }
void Session::resume() noexcept { arena_.resume(); }
void Session::release_cached() noexcept { arena_.release_cached(); }
std::size_t Session::arena_bytes() const noexcept { return arena_.arena_bytes(); }

// --- steps ---

void Session::begin_step(ShapeKey key) {
  arena_.settle();
  catch_up();
  if (arena_.moved() && arena_.overdue_blocks() == 0) {
    arena_.commit(bytes_to_hold(nullptr));
  }
  SessionShape& shape = parts_->shapes.use(shape_key(key));
  key_ = key;
  arena_.install(shape.planned.layout);
  arena_.begin_step(key);
  running_ = &shape;
  ++totals_.steps;
  if (shape.planned.layout) ++totals_.planned_steps;
}

void Session::adopt(std::span<const Trace> traces, ShapeKey key) {
  adopt_plan(plan_for(traces), key);
}

StepPlan Session::plan_for(std::span<const Trace> traces) const {
  require(!traces.empty(), "got no trace to adopt, expected at least 1");
  std::vector<std::vector<StepRequest>> steps;
  for (const Trace& trace : traces) steps.push_back(requests_of(trace));
  StepRecording recording = joined(steps);
  if (options_.matching != Matching::kByPosition) recording.matching = options_.matching;
  return plan_step(std::move(recording), planner_);
}

void Session::adopt_plan(StepPlan planned, ShapeKey key) {
  if (arena_.in_step()) throw std::logic_error("[session] adopt inside a step");
  arena_.settle();
  catch_up();
  count_plan(planned);
  SessionEvent event = event_before(planned, key);
  event.kind = SessionEvent::Kind::kAdopted;
  event.shape_key = key;
  SessionShape& shape = parts_->shapes.use(shape_key(key));
  commit_for(shape, planned);
  if (options_.policy == ShapePolicy::kUpperBound) {
    adopted_bytes_ = std::max(adopted_bytes_, planned.layout->peak_bytes);
  }
  parts_->shapes.renew(shape);
  enter_plan(shape, std::move(planned), std::move(event));
}

ShapeKey Session::shape_key(ShapeKey key) const {
  return options_.policy == ShapePolicy::kPerShape ? key : ShapeKey{0, key.kind};
}

// --- learning from steps ---

void Session::catch_up() {
  SessionShape* shape = std::exchange(running_, nullptr);
  if (shape != nullptr && arena_.log().was_cut()) ++totals_.abandoned_steps;
  const bool news = shape != nullptr && !arena_.log().empty();
  if (!news && !wanted_ && !parts_->worker.busy()) return;
  const StallClock clock(totals_, switched_);
  if (news) learn(*shape);
  plan_what_is_wanted();
}

void Session::learn(SessionShape& shape) {
  if (shape.planned.layout) {
    learn_deviations(shape);
  } else if (totals_.steps >= static_cast<std::uint64_t>(options_.warmup_steps)) {
    learn_recording(shape);
  }
}

void Session::learn_recording(SessionShape& shape) {
  const StepLog& log = arena_.log();
  if (log.was_cut()) return;
  std::vector<StepRequest> requests = merged({}, log);
  if (log.refusals() > 0 && !same_requests(requests, shape.doubtful)) {
    shape.doubtful = std::move(requests);
    return;
  }
  want(shape, {.requests = std::move(requests), .matching = options_.matching});
}

void Session::learn_deviations(SessionShape& shape) {
  const StepLog& log = arena_.log();
  ++totals_.deviating_steps;
  totals_.deviations += log.observations().size();
  tell({.kind = SessionEvent::Kind::kDeviated,
        .step = totals_.steps - 1,
        .shape_key = key_,
        .arena_bytes = arena_bytes(),
        .deviation = first_deviation(shape)});
  if (waits(shape) || turns_to_tags(shape)) return;
  const StepRecording& known = shape.planned.recording;
  StepRecording recording{merged(known.requests, log), known.matching};
  if (same_requests(recording, known)) {
    if (log.has(Deviation::kOverlapsOverdue)) move_off_survivors();
    return;
  }
  if (shape.wanted && known.matching != Matching::kBySize)
    recording = joined(*shape.wanted, recording.requests);
  if (!outgrows(shape, recording)) return want(shape, std::move(recording));
  if (std::exchange(shape.left_out, log.observations()) != log.observations()) return;
  parts_->shapes.renew(shape);
  shape.planned = {};
}

// True when it is too early to plan anew, see SessionOptions::eager_plans.
bool Session::waits(SessionShape& shape) const {
  constexpr std::uint64_t kCalmSteps = 16;  // without a deviation: the program repeats itself again
  if (totals_.steps > std::exchange(shape.deviated_at, totals_.steps) + kCalmSteps) shape.tries = 0;
  ++shape.deviating_steps;
  const std::uint64_t late = std::max(shape.tries + 1, options_.eager_plans) - options_.eager_plans;
  if (shape.deviating_steps >> std::min<std::uint64_t>(late, 63) == 0) return true;
  ++shape.tries;
  shape.deviating_steps = 0;
  return false;
}

// True when steps of known different sequences have become a recording that needs more bytes than
// any of them, or far more if requests match by size: blocks are then alive together that no step
// has at once. The plan stays as it is, and the arena lends the rest, until a step repeats itself:
// then it is recorded anew.
bool Session::outgrows(SessionShape& shape, const StepRecording& recording) const {
  constexpr std::uint64_t kShareBySize = 8;
  shape.most_bytes = std::max<std::uint64_t>(shape.most_bytes, arena_.step_bytes());
  if (options_.policy != ShapePolicy::kGrow || options_.matching == Matching::kByPosition) {
    return false;
  }
  const bool by_size = options_.matching == Matching::kBySize;
  return lower_bound_bytes(canonical_step(recording.requests).trace, options_.plan.alignment) >
         shape.most_bytes + (by_size ? shape.most_bytes / kShareBySize : 0);
}

// True when the step's requests match by tag from now on, so that their positions mean nothing.
// The first step with another number of requests is still merged by position: it may only have
// grown.
bool Session::turns_to_tags(SessionShape& shape) {
  const StepRecording& known = shape.planned.recording;
  if (known.matching != Matching::kByPosition) return false;
  if (shape.wanted && shape.wanted->matching == Matching::kByTag) return true;
  if (arena_.log().was_cut() || !of_another_order(arena_.log(), known.requests)) return false;
  if (shape.uniform.empty()) {
    shape.uniform = known.requests;
    return false;
  }
  want(shape, {.requests = std::move(shape.uniform), .matching = Matching::kByTag});
  return true;
}

void Session::want(SessionShape& shape, StepRecording recording) {
  parts_->shapes.want(shape, std::move(recording));
  wanted_ = true;
}

DeviationFacts Session::first_deviation(const SessionShape& shape) const {
  const std::vector<Observation>& seen = arena_.log().observations();
  const Observation& first = seen.front();
  DeviationFacts facts{.request = first.request,
                       .kind = first.kind,
                       .refused = first.refused,
                       .bytes = first.bytes,
                       .tag = first.tag,
                       .count = seen.size()};
  if (first.kind != Deviation::kBeyondPlan && first.kind != Deviation::kBetween) {
    facts.planned_bytes = shape.planned.layout->slots[facts.request].bytes();
    if (facts.tag == BlockTag{}) facts.tag = shape.planned.recording.requests[facts.request].tag;
  }
  return facts;
}

// --- plans ---

void Session::plan_what_is_wanted() {
  if (parts_->worker.finished()) take_plan();
  while (!parts_->worker.busy()) {
    const auto [key, shape] = parts_->shapes.newest_wanted();
    wanted_ = shape != nullptr;
    if (!wanted_) return;
    if (!plan_beside(key, *shape)) plan_here(key, *shape);
  }
}

// False when the plan must be made here.
bool Session::plan_beside(ShapeKey key, const SessionShape& shape) {
  if (!background_ || (!switched_ && !options_.first_in_background)) return false;
  try {
    parts_->worker.begin({.key = key, .shape = shape.identity}, *shape.wanted, planner_);
    return true;
  } catch (const std::system_error&) {
    return false;  // no thread available
  }
}

void Session::plan_here(ShapeKey key, SessionShape& shape) {
  const StepRecording recording = *std::exchange(shape.wanted, std::nullopt);
  replan(key, shape, plan_step(recording, planner_), /*in_background=*/false);
}

// A recording that changed while it was being planned stays wanted.
void Session::take_plan() {
  const BackgroundPlanner::Order order = parts_->worker.order();
  SessionShape* shape = parts_->shapes.find(order.key, order.shape);
  std::optional<StepRecording> wanted;
  if (shape != nullptr) wanted = std::exchange(shape->wanted, std::nullopt);
  StepPlan planned = parts_->worker.take();
  ++totals_.background_plans;
  if (shape == nullptr) {
    ++totals_.discarded_plans;
    return;
  }
  const bool up_to_date = !wanted || same_requests(*wanted, planned.recording);
  if (replan(order.key, *shape, std::move(planned), /*in_background=*/true) && !up_to_date) {
    want(*shape, *std::move(wanted));
  }
}

void Session::count_plan(const StepPlan& planned) {
  totals_.planning_seconds += planned.plan.seconds;
  totals_.validation_seconds += planned.plan.validation_seconds;
  totals_.last_planning_seconds = planned.plan.seconds;
}

// False when the device cannot hold the plan.
bool Session::replan(ShapeKey key, SessionShape& shape, StepPlan planned, bool in_background) {
  count_plan(planned);
  SessionEvent event = event_before(planned, key);
  event.in_background = in_background;
  try {
    commit_for(shape, planned);
  } catch (const OutOfMemory& refusal) {
    ++totals_.failed_replans;
    event.kind = SessionEvent::Kind::kReplanFailed;
    event.problem = refusal.what();
    event.arena_bytes = arena_bytes();
    event.reserved_bytes_after = statistics().reserved_bytes;
    tell(event);
    return false;
  }
  enter_plan(shape, std::move(planned), std::move(event));
  return true;
}

std::uint64_t Session::bytes_to_hold(const SessionShape* except) const {
  return std::max(adopted_bytes_, parts_->shapes.largest_peak_bytes(except));
}

// Returns the pools' caches first: the arena takes their place.
void Session::commit_for(const SessionShape& replaced, const StepPlan& planned) {
  arena_.release_cached();
  arena_.commit(std::max(planned.layout->peak_bytes, bytes_to_hold(&replaced)));
}

// There is nothing new to plan, but blocks that stay lie over the plan.
void Session::move_off_survivors() {
  try {
    arena_.commit_around_survivors(bytes_to_hold(nullptr));
  } catch (const OutOfMemory&) {
    // The fallback keeps serving the requests that lie over them.
  }
}

void Session::enter_plan(SessionShape& shape, StepPlan planned, SessionEvent event) {
  shape.planned = std::move(planned);
  if (switched_) {
    ++(event.kind == SessionEvent::Kind::kAdopted ? totals_.adopted_plans : totals_.replans);
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

SessionEvent Session::event_before(const StepPlan& planned, ShapeKey key) const {
  return {.kind = SessionEvent::Kind::kReplanned,
          .step = totals_.steps,
          .shape_key = shape_key(key_) == key ? key_ : key,
          .blocks = planned.step.trace.size(),
          .lower_bound = planned.plan.lower_bound,
          .peak = planned.plan.peak,
          .gap = planned.plan.gap(),
          .proved_optimal = planned.plan.proved_optimal,
          .planning_seconds = planned.plan.seconds,
          .validation_seconds = planned.plan.validation_seconds,
          .reserved_bytes_before = statistics().reserved_bytes,
          .pool_peak_reserved_bytes = parts_->pool.statistics().peak_reserved_bytes};
}

void Session::tell(const SessionEvent& event) const {
  if (options_.listener) options_.listener(event);
}

// --- figures ---

bool Session::planning() const noexcept { return parts_->worker.busy(); }
void Session::wait_for_plan() const { parts_->worker.wait(); }
Statistics Session::pool_statistics() const { return parts_->pool.statistics(); }
Statistics Session::fallback_statistics() const { return parts_->fallback.statistics(); }

const SessionShape* Session::current() const noexcept {
  return totals_.steps > 0 ? parts_->shapes.find(shape_key(key_)) : nullptr;
}

Session::State Session::state() const noexcept {
  const SessionShape* shape = current();
  return shape != nullptr && shape->planned.layout ? State::kPlanned : State::kWarmUp;
}

const Trace& Session::trace() const noexcept {
  static const Trace none;
  const SessionShape* shape = current();
  return shape != nullptr ? shape->planned.step.trace : none;
}

const Plan& Session::plan() const noexcept {
  static const Plan none;
  const SessionShape* shape = current();
  return shape != nullptr ? shape->planned.plan : none;
}

SessionStatistics Session::session_statistics() const {
  SessionStatistics figures = totals_;
  figures.planned_requests = arena_.planned_requests();
  figures.fallback_requests = arena_.fallback_requests();
  figures.interrupted_requests = arena_.interrupted_requests();
  figures.pool_calls = arena_.pool_calls();
  figures.peak_fallback_reserved_bytes = parts_->fallback.statistics().peak_reserved_bytes;
  figures.peak_fallback_bytes = parts_->fallback.statistics().peak_allocated_bytes;
  if (switched_) {
    figures.device_allocations_since_switch =
        statistics().device_allocations - device_allocations_at_switch_;
    figures.peak_reserved_bytes_since_switch = arena_.recent_peak_reserved_bytes();
  }
  return figures;
}

}  // namespace skyline
