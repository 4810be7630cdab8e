#include "train/lab/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "memory/formats/csv/trace_csv.h"
#include "memory/now_seconds.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

// Returns only the blocks with a fixed offset.
CsvPlan fixed_part(const Trace& trace, std::uint64_t alignment) {
  CsvPlan part{.plan = {.alignment = alignment, .planner = "fixed"}};
  auto gap = trace.gaps.begin();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::optional<std::uint64_t> offset = trace.fixed_offset(i);
    for (; gap != trace.gaps.end() && gap->block == i; ++gap) {
      if (offset) part.trace.gaps.push_back({part.trace.size(), gap->lower, gap->upper});
    }
    if (!offset) continue;
    part.trace.blocks.push_back(trace.blocks[i]);
    part.trace.ids.push_back(trace.id(i));
    if (!trace.alignments.empty()) part.trace.alignments.push_back(trace.alignments[i]);
    part.plan.offsets.push_back(*offset);
    part.plan.peak = std::max(part.plan.peak, *offset + planned_bytes(trace, i, alignment));
  }
  part.plan.lower_bound = lower_bound_bytes(part.trace, alignment);
  return part;
}

// Completes the plan of a trace that fixes every offset.
Plan fixed_plan(const PlanRequest& question, Plan plan) {
  plan.proved_bound = plan.peak;  // no other plan exists
  plan.proved_optimal = true;
  plan.seed = question.options.seed;
  return plan;
}

void require_keeper(std::string_view planner) {
  std::vector<std::string_view> keepers;
  for (const PlannerEntry& entry : all_planners()) {
    if (!entry.keeps_fixed_offsets) continue;
    if (entry.name == planner) return;
    keepers.push_back(entry.name);
  }
  throw UsageError(
      fmt::format("the trace fixes offsets, which planner '{}' cannot keep; these can: {}; "
                  "--ignore-offsets plans without them",
                  planner, fmt::join(keepers, ", ")));
}

// Sizes that a planner refuses are the user's to change.
Plan plan_by(const PlanRequest& question) try {
  return plan(question.trace, question.planner, question.options, all_planners());
} catch (const std::invalid_argument& refusal) {
  throw UsageError(refusal.what());
}

Plan found_plan(const PlanRequest& question) {
  const CsvPlan fixed = fixed_part(question.trace, question.options.alignment);
  if (const Validity verdict = validate(fixed.trace, fixed.plan); !verdict.valid) {
    throw UsageError(fmt::format("the trace's fixed offsets cannot be kept: {}", verdict.reason));
  }
  if (fixed.trace.size() > 0 && fixed.trace.size() == question.trace.size()) {
    return fixed_plan(question, fixed.plan);
  }
  if (fixed.trace.size() > 0) require_keeper(question.planner);
  Plan found = plan_by(question);
  // No plan that keeps the fixed offsets can end below the highest of them.
  found.proved_bound = std::max(found.proved_bound, fixed.plan.peak);
  found.proved_optimal = found.peak == found.proved_bound;
  return found;
}

std::string blocks_line(const PlanResult& answer) {
  std::string line = std::to_string(answer.blocks);
  if (answer.fixed_blocks > 0) line += fmt::format(", {} at fixed offsets", answer.fixed_blocks);
  if (answer.gaps > 0) line += fmt::format(", {} gaps", answer.gaps);
  return line;
}

std::string alignment_line(const PlanResult& answer) {
  const std::string all = format_bytes(answer.alignment);
  return answer.has_alignments ? all + ", for some blocks more" : all;
}

bool has_several(const std::vector<std::uint64_t>& alignments) {
  return std::ranges::adjacent_find(alignments, std::ranges::not_equal_to()) != alignments.end();
}

std::string optimality(const PlanResult& answer) {
  const Plan& plan = *answer.plan;
  if (!plan.proved_optimal) return "not proved";
  if (plan.peak == plan.lower_bound) return "yes, proved: the peak is the lower bound";
  return answer.fixed_blocks == answer.blocks ? "yes: the trace fixes every offset"
                                              : "yes, proved: no plan has a lower peak";
}

std::string feasibility(const PlanResult& answer) {
  const std::optional<bool> feasible = answer.feasible();
  if (!feasible) return "not found; whether a plan fits is open";
  if (*feasible) return "yes, the plan fits";
  if (answer.lower_bound > *answer.capacity) {
    return fmt::format("no, proved: {} are in use at one tick",
                       format_bytes_both(answer.lower_bound));
  }
  return fmt::format("no, proved: no plan is below {}", format_bytes_both(answer.proved_bound()));
}

std::string time_line(const PlanResult& answer) {
  const std::string time = format_seconds(answer.seconds);
  if (!answer.time_is_up()) return time;
  return time + fmt::format(", the limit of {:.6g} s: {}", *answer.time_limit_seconds,
                            answer.plan->out_of_time ? "stopped within the first pass"
                                                     : "the best plan so far");
}

bool asks_solver(std::string_view planner) {
  return std::ranges::find(planners(), planner, &PlannerEntry::name) == planners().end();
}

std::string planner_line(const PlanResult& answer) {
  std::string line = fmt::format("{}, seed {}", answer.plan->planner, answer.seed);
  if (answer.plan->out_of_time) line += " (the planner asked for placed nothing in time)";
  if (asks_solver(answer.asked_planner) && answer.plan->planner != answer.asked_planner) {
    line += fmt::format(" (a simple rule; {} found nothing better)", answer.asked_planner);
  }
  return line;
}

double preplaced_share(const PlanResult& answer) {
  if (answer.blocks == 0) return 0;
  return static_cast<double>(*answer.plan->preplaced_blocks) / static_cast<double>(answer.blocks);
}

void add_plan_rows(const PlanResult& answer, Table& table) {
  const Plan& plan = *answer.plan;
  if (plan.proved_bound > plan.lower_bound) {
    table.add_row({"proved bound", format_bytes_both(plan.proved_bound)});
  }
  table.add_row({"peak", format_bytes_both(plan.peak)});
  table.add_row({"gap", fmt::format("{:.3g} %", 100 * plan.gap())});
  table.add_row({"optimal", optimality(answer)});
  if (plan.preplaced_blocks) {
    table.add_row({"pre-placed", fmt::format("{} of {} blocks, {}", *plan.preplaced_blocks,
                                             answer.blocks, percent(preplaced_share(answer)))});
  }
  if (!plan.solver) return;
  const SolverReport& solver = *plan.solver;
  table.add_row({"solver", solver.solver});
  table.add_row({"its status", solver.status});
  table.add_row({"its bound", solver.bound ? format_bytes_both(*solver.bound) : "none"});
  table.add_row({"its nodes", fmt::format("{}", solver.nodes)});
  table.add_row({"solved in", format_seconds(solver.seconds)});
}

}  // namespace

std::optional<bool> PlanResult::feasible() const {
  if (!capacity) return true;
  if (proved_bound() > *capacity) return false;
  if (plan && plan->peak <= *capacity) return true;
  return std::nullopt;
}

// Searches start no work that would end after the limit, so they may stop slightly early.
bool PlanResult::time_is_up() const {
  constexpr double kNearlyAll = 0.9;
  if (plan && plan->out_of_time) return true;
  return plan && time_limit_seconds && !plan->proved_optimal &&
         !(capacity && plan->peak <= *capacity) && seconds >= kNearlyAll * *time_limit_seconds;
}

Rows<PlanResult> rows(const PlanResult*) {
  return {
      {"blocks", kCount, "requests of the trace", &PlanResult::blocks},
      {"lower_bound", kBytes, "no plan needs less", &PlanResult::lower_bound},
      {"peak", kBytes, "the highest byte in use", of(&PlanResult::plan, &Plan::peak)},
      {"gap", kShare, "(peak − lower bound) / lower bound", of(&PlanResult::plan, &Plan::gap)},
      {"planner", "who planned", of(&PlanResult::plan, &Plan::planner)},
      {"proved_optimal", "the peak is a proved bound",
       [](auto& result) { return result.plan && result.plan->proved_optimal; }},
      {"feasible", "the plan is within the capacity; null: not found", &PlanResult::feasible},
      {"seconds", kSeconds, "of planning", &PlanResult::seconds},
      {"validation_seconds", kSeconds, "of the validator",
       of(&PlanResult::plan, &Plan::validation_seconds)},
      {"proved_bound", kBytes, "the best bound that was proved, at least the lower bound",
       &PlanResult::proved_bound},
      {"seed", kNumber, "of randomized planners", &PlanResult::seed},
      {"alignment", kBytes, "offsets are multiples of it", &PlanResult::alignment},
      {"capacity", kBytes, "the limit", &PlanResult::capacity},
      {"fixed_blocks", kCount, "blocks whose offset the trace states", &PlanResult::fixed_blocks},
      {"time_is_up", "the time limit ended the search", &PlanResult::time_is_up},
      {"out_of_time", "it ended the first pass, so the plan is program-order's",
       [](auto& result) { return result.plan && result.plan->out_of_time; }},
      {"solver", "what the solver of planner mip says; null: no solver ran",
       [](auto& result) { return result.plan ? result.plan->solver : std::nullopt; }},
      {"preplaced_blocks", kCount, "blocks that planner pyramid placed in advance; null: another",
       [](auto& result) { return result.plan ? result.plan->preplaced_blocks : std::nullopt; }}};
}

Rows<SolverReport> rows(const SolverReport*) {
  return {{"name", "which solver", &SolverReport::solver},
          {"status",
           "optimal, infeasible, time limit, node limit, first solution (within the capacity) or "
           "gave up",
           &SolverReport::status},
          {"bound", kBytes, "no plan needs less, as far as the solver got", &SolverReport::bound},
          {"nodes", kCount, "of the solver's search tree", &SolverReport::nodes},
          {"seconds", kSeconds, "of the solver, by the clock", &SolverReport::seconds}};
}

std::string PlanResult::text() const {
  Table table("<plan | <");
  table.add_row({"blocks", blocks_line(*this)});
  table.add_row({"lower bound", format_bytes_both(lower_bound)});
  if (plan) add_plan_rows(*this, table);
  if (capacity) {
    table.add_row({"capacity", format_bytes_both(*capacity)});
    table.add_row({"feasible", feasibility(*this)});
  }
  if (plan) table.add_row({"planner", planner_line(*this)});
  table.add_row({"alignment", alignment_line(*this)});
  table.add_row({"planned in", time_line(*this)});
  if (plan) table.add_row({"checked in", format_seconds(plan->validation_seconds)});
  return table.str();
}

PlanResult answer(const PlanRequest& question) {
  const double started = now_seconds();
  const PlanOptions& options = question.options;
  PlanResult answer{.blocks = question.trace.size(),
                    .fixed_blocks = fixed_block_count(question.trace),
                    .gaps = question.trace.gaps.size(),
                    .lower_bound = lower_bound_bytes(question.trace, options.alignment),
                    .alignment = common_alignment(question.trace, options.alignment),
                    .seed = options.seed,
                    .has_alignments = has_several(question.trace.alignments),
                    .capacity = options.capacity,
                    .time_limit_seconds = options.time_limit_seconds,
                    .asked_planner = question.planner};
  if (!options.capacity || answer.lower_bound <= *options.capacity) {
    answer.plan = found_plan(question);
  }
  answer.seconds =
      answer.plan && answer.plan->seconds > 0 ? answer.plan->seconds : now_seconds() - started;
  return answer;
}

}  // namespace skyline
