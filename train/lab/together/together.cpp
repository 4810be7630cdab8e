#include "train/lab/together/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "memory/errors.h"
#include "memory/now_seconds.h"
#include "memory/order/placed_order.h"
#include "memory/replay/trace_events.h"
#include "memory/replay/trace_replay.h"
#include "memory/session/session.h"
#include "memory/solvers/solvers.h"
#include "train/decide/program_graph.h"
#include "train/lab/dry_run/dry_run_answer.h"

namespace skyline {
namespace {

constexpr std::size_t kCurvePoints = 240;
constexpr int kTimedSteps = 9;

// Samples a curve over the ticks of a step; points are ordered by tick.
template <typename Points>
std::vector<std::uint64_t> sampled(const Points& points, Tick end) {
  std::vector<std::uint64_t> samples;
  std::uint64_t bytes = 0;
  auto next = points.begin();
  for (std::size_t k = 0; k < kCurvePoints; ++k) {
    const Tick tick = end * static_cast<Tick>(k + 1) / static_cast<Tick>(kCurvePoints);
    for (; next != points.end() && next->first <= tick; ++next) bytes = next->second;
    samples.push_back(bytes);
  }
  return samples;
}

Tick end_of(const Trace& trace) {
  return trace.blocks.empty() ? 0 : std::ranges::max(trace.blocks, {}, &TraceBlock::upper).upper;
}

// The bytes below the highest that a plan has used.
std::vector<std::uint64_t> curve_of(const Trace& trace, const Plan& plan) {
  std::vector<std::pair<Tick, std::uint64_t>> points;
  std::uint64_t highest = 0;
  for (std::size_t block = 0; block < trace.size(); ++block) {
    highest = std::max(highest, plan.offsets[block] + planned_bytes(trace, block, plan.alignment));
    points.emplace_back(trace.blocks[block].lower, highest);
  }
  return sampled(points, end_of(trace));
}

std::vector<std::uint64_t> live_curve(const Trace& trace) {
  std::vector<std::pair<Tick, std::uint64_t>> points;
  std::uint64_t live = 0;
  for (const TraceEvent& event : trace_events(trace)) {
    const std::uint64_t bytes = planned_bytes(trace, event.block, kAlignmentBytes);
    live = event.allocation ? live + bytes : live - bytes;
    points.emplace_back(event.tick, live);
  }
  return sampled(points, end_of(trace));
}

// The fewest nanoseconds that a request and its free took in one of a few steps, after one that
// nobody timed.
double nanoseconds_of(const Trace& trace, const ReplayChoice& choice) {
  ReplayedAllocator replayed(choice);
  Allocator& allocator = replayed.get();
  const ShapeKey key = 0;
  if (replayed.session() != nullptr) replayed.session()->adopt({&trace, 1}, key);
  const std::vector<TraceEvent> events = trace_events(trace);
  std::vector<Extent> extents(trace.size());
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= kTimedSteps; ++step) {
    allocator.begin_step(key);
    const double started = now_seconds();
    for (const TraceEvent& event : events) {
      Extent& extent = extents[event.block];
      if (event.allocation) {
        extent = allocator.acquire(trace.blocks[event.block].bytes, {});
      } else {
        allocator.release(extent);
      }
    }
    const double nanoseconds = 1e9 * (now_seconds() - started);
    allocator.end_step();
    if (step > 0) least = std::min(least, nanoseconds);
  }
  return trace.size() == 0 ? 0 : least / static_cast<double>(trace.size());
}

void count_calls(TogetherRow& row, const Trace& trace, const ReplayChoice& choice) {
  const AllocatorUse use = replay_run(run_of(trace), trace, choice);
  row.first_calls = use.device_allocations;
  if (use.steps > 1) {
    row.later_calls = static_cast<double>(use.later_device_allocations) / (use.steps - 1);
  }
  row.nanoseconds = nanoseconds_of(trace, choice);
  if (row.bytes == 0) row.bytes = use.peak_reserved_bytes;
}

std::string proof_of(const Plan& plan) {
  return plan.proved_optimal ? "proved optimal" : "not proved";
}

// Makes the rows of one recorded step.
class Workshop {
 public:
  explicit Workshop(const TogetherOptions& options)
      : options_(options),
        program_(make_dry_run(options.program)),
        facts_(program_.foresee(options.program.batch_size, Mode::kTraining, DryRun::Graph::kOn)),
        written_(program_graph(in_program_sequence(facts_.step.graph, facts_.program_numbers),
                               options.program.step.in_place, facts_.resident_bytes)) {}

  Together run() {
    const double started = now_seconds();
    together_ = {.options = options_,
                 .requests = facts_.trace.size(),
                 .ops = facts_.step.graph.ops.size(),
                 .rows = {},
                 .left_out = {},
                 .live = live_curve(facts_.trace),
                 .step_bound = lower_bound_bytes(facts_.trace, kAlignmentBytes)};
    add_pools();
    add_note();
    add_plans();
    add_orders();
    add_budget();
    for (TogetherRow& row : together_.rows) {
      row.above_bound = static_cast<double>(row.bytes) / static_cast<double>(together_.bound) - 1;
      if (row.bytes == together_.bound && row.status == "proved optimal") {
        row.status = "is the bound";
      }
    }
    together_.seconds = now_seconds() - started;
    return std::move(together_);
  }

 private:
  void add_pool(std::string work, const char* allocator, std::string adds) {
    TogetherRow row{.work = std::move(work),
                    .name = allocator,
                    .needs = "nothing",
                    .shapes = "as it comes",
                    .adds = std::move(adds)};
    const ReplayChoice choice{.allocator = allocator};
    count_calls(row, facts_.trace, choice);
    std::vector<std::pair<Tick, std::uint64_t>> points;
    for (const MemoryPoint& point : replay_trace(facts_.trace, allocator).curve.points) {
      points.emplace_back(point.tick, point.reserved_bytes);
    }
    row.curve = sampled(points, end_of(facts_.trace));
    together_.rows.push_back(std::move(row));
  }

  // A plan is served by an arena: every row's calls and times are that arena's.
  TogetherRow& add_plan(std::string work, std::string name, const Trace& trace, const Plan& plan,
                        std::string adds, std::string needs = "a step") {
    TogetherRow row{.work = std::move(work),
                    .name = std::move(name),
                    .bytes = plan.peak,
                    .needs = std::move(needs),
                    .shapes = "a new plan",
                    .status = proof_of(plan),
                    .adds = std::move(adds),
                    .curve = curve_of(trace, plan)};
    count_calls(row, trace,
                {.allocator = std::string(kPlannedAllocator),
                 .step_planner = [&plan](const Trace&) { return plan; }});
    together_.rows.push_back(std::move(row));
    return together_.rows.back();
  }

  Plan planned(const Trace& trace, std::string_view planner) const {
    return plan(trace, planner, {.time_limit_seconds = options_.time_limit_seconds},
                all_planners());
  }

  void add_pools() {
    add_pool("Chainer", "network-wise", "every request of the step has bytes of its own");
    add_pool("Chainer up to 1.24", "exact-pool", "a freed block serves a request of its size");
    add_pool("Chainer 3", "best-fit-pool",
             "a freed block serves a smaller request, and neighbours merge");
    add_pool("PyTorch", "caching", "small and large requests have segments of their own");
    add_pool("GMLake, expandable segments", "stitched",
             "pages of freed blocks are mapped behind one range");
  }

  void add_note() {
    const StepGraph& graph = facts_.step.graph;
    for (const auto& [name, in_place, adds] :
         {std::tuple("none", false, "the whole graph is known, and nothing is shared"),
          std::tuple("in place", true, "an op writes over the input that it reads last")}) {
      const Trace trace = simulate(graph, {.in_place = in_place, .sharing = false});
      add_plan("MXNet", name, trace, planned(trace, kDefaultPlanner), adds, "the graph").status =
          "";
    }
    for (const auto& [name, adds] :
         {std::pair("box-fixed", "a freed region serves a later value that is no larger"),
          std::pair("box", "a freed region grows to the largest of its values"),
          std::pair("colouring", "the largest values choose their regions first")}) {
      add_plan("MXNet", name, facts_.trace, planned(facts_.trace, name), adds, "the graph");
    }
  }

  void add_plans() {
    add_plan("PGMO", "best-fit", facts_.trace, plan(facts_.trace, "best-fit"),
             "blocks have offsets of any kind: two may lie where one was");
    try {
      add_program(planned(facts_.trace, "mip"));
    } catch (const std::invalid_argument& error) {  // too many blocks or pairs
      together_.left_out = error.what();
    }
  }

  void add_program(const Plan& solved) {
    TogetherRow& row =
        add_plan("PGMO", "mip", facts_.trace, solved, "a solver looks for better offsets");
    if (!solved.solver) return;
    row.status = fmt::format("{}: {}, {:.1f} s", solved.solver->solver, solved.solver->status,
                             solved.solver->seconds);
  }

  // Orders of all ops, forward ones, too, of the step in the program's sequence.
  void add_orders() {
    const OrderOptions options = step_order_options(options_.program.step.in_place);
    const auto trace_of = [&](const std::vector<OpId>& order) {
      return trace_of_order(written_, order, options);
    };
    const OrderTable table = all_order_algorithms();
    const OrderAnswer program = order(written_, kProgramOrder, options, table);
    const Trace queue = trace_of(order(written_, "tensorflow", options, table).order);
    add_plan("TensorFlow", "queue", queue, planned(queue, kDefaultPlanner),
             "ops run first come, first served", "the graph");
    add_olla(options, table);
    const Trace of_program = trace_of(program.order);
    add_plan("Skyline", "program's order", of_program, planned(of_program, kDefaultPlanner),
             "planners from the cheapest to an exact one, until one is proved");
    add_plan("Skyline", "as executed", facts_.trace, planned(facts_.trace, kDefaultPlanner),
             "gradients and updates run in the best order, forward as written");
    const PlacedOrder best = order_and_place(written_, kDefaultOrder, options, table);
    add_plan("Skyline", "best order", trace_of(best.order.order), best.plan,
             "of the best orders the one that is placed best");
    together_.bound = best.order.lower_bound;
  }

  // OLLA's program for order and location if the step is in its reach, else first the one and then
  // the other.
  void add_olla(const OrderOptions& options, OrderTable table) {
    constexpr const char* kAdds = "ops run in the order that needs the fewest bytes";
    try {
      OrderOptions limited = options;
      limited.time_limit_seconds = options_.time_limit_seconds;
      const PlacedOrder joint = order_and_place(written_, "olla-joint", limited, table);
      add_plan("OLLA", "order and location", trace_of_order(written_, joint.order.order, options),
               joint.plan, kAdds, "the graph");
    } catch (const GraphError&) {  // too many ops
      const OrderAnswer best = order(written_, kDefaultOrder, options, table);
      const Trace trace = trace_of_order(written_, best.order, options);
      add_plan("OLLA", "order, then location", trace, planned(trace, "exact"), kAdds, "the graph");
    }
  }

  // The smallest step that recomputes values.
  void add_budget() {
    DryRunRequest question{.program = options_.program, .allocators = {}};
    question.seconds = step_seconds({}, {.model = options_.program.model, .device = "cpu"});
    StepBudget budget = step_budget(question, options_.program.batch_size);
    const BudgetAnswer least = budget.within(budget.least_bytes());
    DryRunOptions program = options_.program;
    program.savings = least.savings;
    const DryRunFacts facts = dry_run(program);
    add_plan("Skyline", "least by recomputing", facts.trace, planned(facts.trace, kDefaultPlanner),
             fmt::format("{} values are recomputed, and the step takes {:.1f} % longer",
                         least.recomputed, 100 * least.overhead()));
  }

  const TogetherOptions& options_;
  DryRun program_;
  DryRunFacts facts_;
  StepGraph written_;
  Together together_;
};

}  // namespace

const TogetherRow& Together::row(std::string_view name) const {
  const auto found = std::ranges::find(rows, name, &TogetherRow::name);
  if (found == rows.end()) throw std::out_of_range(fmt::format("no row is called {}", name));
  return *found;
}

Together reproduce_together(const TogetherOptions& options) { return Workshop(options).run(); }

}  // namespace skyline
