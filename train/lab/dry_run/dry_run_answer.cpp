#include "train/lab/dry_run/dry_run_answer.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "memory/replay/live_bytes.h"
#include "memory/solvers/solvers.h"
#include "train/lab/dry_run/dry_run_budget.h"
#include "train/lab/order/program_graph.h"
#include "train/options/allocator_names.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Recomputing longer chains saves little more in the paper's networks.
constexpr int kShownRecompute = 4;

std::vector<Strategy> strategies(DryRun& program, const DryRunRequest& question,
                                 const DryRunFacts& facts) {
  std::vector<Strategy> rows = strategies_of(facts.step.graph, question.planner);
  if (question.program.mode == Mode::kTraining) {
    if (question.program.step.recompute < kShownRecompute) {
      DryRunOptions again = question.program;
      again.step.recompute = kShownRecompute;
      const StepGraph graph = dry_run(again).step.graph;
      // Without chains to recompute, the row would repeat "both".
      if (graph.ops.size() > facts.step.graph.ops.size()) {
        rows.push_back(recomputed(graph, kShownRecompute, question.planner));
      }
    }
    const DryRunFacts inference =
        program.step(question.program.batch_size, Mode::kInference, DryRun::Graph::kOn);
    rows.push_back(forward_only(inference.step.graph, question.planner));
  }
  return rows;
}

StepOrder order_of(const DryRunResult& answer) {
  const DryRunOptions& program = answer.question.program;
  const bool training = program.mode == Mode::kTraining;  // else there is nothing to order
  const DryRunFacts batch = last_batch(answer.facts);
  const StepGraph as_written = in_program_sequence(batch.step.graph, batch.program_numbers);
  StepOrder order =
      step_order({.program = as_written,
                  .executed = batch.step.graph,
                  .algorithm = training ? program.step.order : std::string(kProgramOrder),
                  .in_place = program.step.in_place});
  order.placed = answer.plan.peak;
  return order;
}

LaneAnswer lanes_of(const DryRunResult& answer) {
  const StepSeconds& seconds = answer.question.seconds;
  return lane_answer(executed_graph(answer), seconds.of(answer.facts.step), answer.question.lanes,
                     seconds.source);
}

bool nothing_fits(const LargestBatches& largest) {
  return std::ranges::all_of(largest.allocators,
                             [](const LargestBatch& row) { return row.batch_size == 0; });
}

// Adds the needs of one image, and the largest inference batch that fits.
void add_way_out(DryRun& program, DryRunResult& answer) {
  const DryRunRequest& question = answer.question;
  const DryRunFacts single = program.step(1, question.program.mode);
  for (const ReplayChoice& choice : question.allocators) {
    answer.single_image.push_back(replay_run(single.run, single.trace, choice));
  }
  if (question.program.mode == Mode::kInference) return;
  DryRunOptions inference = question.program;
  inference.mode = Mode::kInference;
  const ReplayChoice planned{.allocator = std::string(kPlannedAllocator),
                             .planner = question.planner,
                             .planner_table = all_planners()};
  answer.inference_batch =
      largest_batches(inference, *question.device_memory_bytes, {planned}).allocators[0].batch_size;
}

AllocatorAnswer allocator_answer(const DryRunRequest& question, const DryRunFacts& facts,
                                 ReplayChoice choice) {
  choice.capacity_bytes = {};
  AllocatorAnswer answer{.unlimited = replay_run(facts.run, facts.trace, choice)};
  if (question.device_memory_bytes) {
    choice.capacity_bytes = question.device_memory_bytes;
    answer.on_device = replay_run(facts.run, facts.trace, choice);
  }
  return answer;
}

// Chooses what the program makes again within its memory, and shows the curve.
void add_budget(DryRunResult& answer) {
  DryRunRequest& question = answer.question;
  StepOptions& step = question.program.step;
  if (!step.memory_bytes && !question.budgets) return;
  StepBudget budget = step_budget(question, question.program.batch_size);
  if (question.budgets) answer.budgets = budget.curve(kShownBudgets);
  if (!step.memory_bytes) return;
  answer.budget = budget.within(*step.memory_bytes);
  step.savings = answer.budget->savings;
  question.engines->choose(answer.budget->engines);
}

// --- JSON ---

// Returns bytes by category name, without categories of zero bytes.
Json by_category(const CategoryBytes& bytes) {
  Json json = Json::object();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > 0) json[std::string(category_name(static_cast<Category>(i)))] = bytes[i];
  }
  return json;
}

Json categories_json(const DryRunResult& answer) {
  const CategoryBytes parts = lower_bound_parts(answer.facts.trace, answer.plan.alignment);
  Json json = Json::object();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (answer.facts.peak_bytes[i] == 0) continue;
    json[std::string(category_name(static_cast<Category>(i)))] = {
        {"peak_bytes", answer.facts.peak_bytes[i]}, {"bytes_at_lower_bound", parts[i]}};
  }
  return json;
}

Json layers_json(const DryRunResult& answer) {
  Json json = Json::array();
  for (const LayerBytes& layer :
       layer_bytes(answer.facts.run, answer.facts.trace, Grouping::kLayer, answer.plan.alignment)) {
    json.push_back({{"layer", layer.layer},
                    {"resident_bytes", layer.resident_bytes},
                    {"peak_bytes", layer.peak_bytes},
                    {"bytes_at_lower_bound", layer.bytes_at_lower_bound},
                    {"categories_at_lower_bound", by_category(layer.categories_at_lower_bound)}});
  }
  return json;
}

Json allocator_json(const DryRunResult& answer, std::size_t index) {
  const AllocatorAnswer& row = answer.allocators[index];
  const AllocatorUse& use = row.on_device ? *row.on_device : row.unlimited;
  Json json = {{"fits", use.fits},
               {"peak_reserved", use.fits ? Json(use.peak_reserved_bytes) : Json(nullptr)},
               {"peak_reserved_without_limit", row.unlimited.peak_reserved_bytes},
               {"device_allocations", use.fits ? Json(use.device_allocations) : Json(nullptr)},
               {"device_allocations_after_switch",
                use.fits ? Json(use.later_device_allocations) : Json(nullptr)},
               {"flushes", use.fits ? Json(use.flushes) : Json(nullptr)},
               {"steps", use.steps},
               {"problem", use.fits ? Json(nullptr) : Json(use.problem)}};
  if (answer.largest) {
    const LargestBatch& largest = answer.largest->allocators[index];
    json["largest_batch"] = largest.batch_size;
    json["largest_batch_proved"] = largest.proved;
  }
  return json;
}

Json strategies_json(const std::vector<Strategy>& strategies) {
  Json json = Json::array();
  for (const Strategy& strategy : strategies) {
    json.push_back({{"strategy", strategy.name},
                    {"in_place", strategy.in_place},
                    {"sharing", strategy.sharing},
                    {"blocks", strategy.blocks},
                    {"lower_bound", strategy.plan.lower_bound},
                    {"planned", strategy.plan.peak},
                    {"proved_optimal", strategy.plan.proved_optimal}});
  }
  return json;
}

}  // namespace

DryRunResult answer(const DryRunRequest& asked) {
  const auto started = std::chrono::steady_clock::now();
  DryRunResult answer{.question = asked};
  const DryRunRequest& question = answer.question;
  add_budget(answer);
  DryRun program = make_dry_run(question.program);
  answer.facts =
      program.step(question.program.batch_size, question.program.mode, DryRun::Graph::kOn);
  answer.program_step = in_program_sequence(answer.facts.step.graph, answer.facts.program_numbers);
  answer.plan = plan(answer.facts.trace, question.planner, {}, all_planners());
  answer.order = order_of(answer);
  if (question.lanes > 0) answer.lanes = lanes_of(answer);
  if (question.ranks > 0) {
    answer.ranks = rank_answer(question.program, question.seconds, question.ranks, question.link);
  }
  for (const ReplayChoice& choice : question.allocators) {
    answer.allocators.push_back(allocator_answer(question, answer.facts, choice));
  }
  answer.strategies = strategies(program, question, answer.facts);
  if (question.slowdown) answer.slower = largest_slower_batch(question);
  if (question.device_memory_bytes) {
    answer.largest =
        largest_batches(question.program, *question.device_memory_bytes, question.allocators);
    if (nothing_fits(*answer.largest)) add_way_out(program, answer);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  answer.seconds = elapsed.count();
  return answer;
}

StepGraph executed_graph(const DryRunResult& answer) {
  StepGraph graph = answer.facts.step.graph;
  if (!answer.question.program.step.in_place) {
    for (StepOp& op : graph.ops) op.in_place.clear();
  }
  return graph;
}

Json to_json(const DryRunResult& answer) {
  const DryRunRequest& question = answer.question;
  const auto& workspace = question.program.convolution_workspace_bytes;
  Json allocators = Json::object();
  for (std::size_t i = 0; i < answer.allocators.size(); ++i) {
    allocators[answer.allocators[i].unlimited.allocator] = allocator_json(answer, i);
  }
  Json json = {{"model", question.program.model},
               {"batch_size", question.program.batch_size},
               {"micro_batches", question.program.step.micro_batches},
               {"mode", question.program.mode == Mode::kTraining ? "training" : "inference"},
               {"workspace", workspace ? Json(*workspace) : Json(nullptr)},
               {"parameters", answer.facts.parameters},
               {"resident_bytes", answer.facts.resident_bytes},
               {"resident", by_category(resident_parts(answer.facts.run, answer.plan.alignment))},
               {"blocks", answer.facts.trace.size()},
               {"lower_bound", answer.plan.lower_bound},
               {"peak", answer.plan.peak},
               {"gap", answer.plan.gap()},
               {"planner", answer.plan.planner},
               {"proved_optimal", answer.plan.proved_optimal},
               {"planning_seconds", answer.plan.seconds},
               {"validation_seconds", answer.plan.validation_seconds},
               {"order", answer.order.json()},
               {"budget", answer.budget ? answer.budget->json() : Json(nullptr)},
               {"lanes", answer.lanes ? answer.lanes->json() : Json(nullptr)},
               {"scaling", answer.ranks ? answer.ranks->json() : Json(nullptr)},
               {"categories", categories_json(answer)},
               {"layers", layers_json(answer)},
               {"allocators", allocators},
               {"strategies", strategies_json(answer.strategies)}};
  if (!question.allocators.empty()) {
    json["allocator_options"] = Json::object();
    write_allocator_options(question.allocators.front().allocator_options,
                            json["allocator_options"]);
  }
  for (const BudgetStep& step : answer.budgets) {
    json["budgets"].push_back(
        {{"bytes", step.bytes}, {"overhead", step.overhead}, {"bound", step.bound}});
  }
  if (answer.slower) {
    json["slower_batch"] = {{"batch_size", answer.slower->batch_size},
                            {"reserved", answer.slower->step.reserved_bytes},
                            {"overhead", answer.slower->step.overhead()},
                            {"recomputed", answer.slower->step.recomputed}};
  }
  if (answer.largest) {
    json["device_memory"] = *question.device_memory_bytes;
    json["largest_batch_ceiling"] = answer.largest->ceiling;
    json["batch_sizes_run"] = answer.largest->sizes_run;
    if (!answer.single_image.empty()) {
      for (const AllocatorUse& use : answer.single_image) {
        json["one_image"][use.allocator] = use.peak_reserved_bytes;
      }
    }
    if (answer.inference_batch) json["largest_inference_batch"] = *answer.inference_batch;
  }
  if (answer.machine) {
    json["machine_memory"] = answer.machine->bytes;
    const auto& limit = answer.machine->limit;
    json["machine_limit"] = limit ? Json(limit->name) : Json("physical memory");
  }
  json["seconds"] = answer.seconds;
  return json;
}

}  // namespace skyline
