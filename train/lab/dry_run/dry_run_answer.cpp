#include "train/lab/dry_run/dry_run_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "memory/now_seconds.h"
#include "memory/replay/live_bytes.h"
#include "memory/solvers/solvers.h"
#include "train/cli/usage_error.h"
#include "train/decide/decide.h"
#include "train/decide/program_graph.h"
#include "train/decide/step_seconds.h"
#include "train/options/memory_options.h"
#include "train/run/memory_chain.h"

namespace skyline {

namespace {

BudgetQuestion budget_question(const DryRunRequest& question, std::int64_t batch_size) {
  const auto program = std::make_shared<DryRun>(make_dry_run(question.program));
  const ReplayChoice planned{.allocator = std::string(kPlannedAllocator),
                             .planner = question.planner,
                             .planner_table = all_planners(),
                             .commit_bytes = question.commit_bytes};
  const auto run = [program, planned, batch_size, engines = question.engines](
                       const Savings& savings, const EngineNames& names) {
    program->set_savings(savings);
    if (engines->choose(names)) program->forget_kernels();
    StepTrial trial{program->foresee(batch_size, Mode::kTraining, DryRun::Graph::kOn)};
    trial.reserved_bytes =
        replay_run(trial.facts.run, trial.facts.trace, planned).peak_reserved_bytes;
    return trial;
  };
  return {.trial = run,
          .seconds = question.seconds,
          .freedom = {.in_place = question.program.step.in_place,
                      .fits_engines = question.fits_engines}};
}

BudgetQuestion divided_question(DryRunRequest question, std::int64_t batch_size,
                                std::int64_t parts) {
  question.program.step.micro_batches *= parts;
  question.seconds.of = question.seconds.of_other_batches;
  return budget_question(question, batch_size / parts);
}

}  // namespace

StepBudget step_budget(const DryRunRequest& question, std::int64_t batch_size) {
  BudgetQuestion asked = budget_question(question, batch_size);
  const StepOptions& step = question.program.step;
  asked.division = {.batch_size = batch_size,
                    .micro_batches = step.micro_batches,
                    .fused_update = step.fused_update,
                    .step = [&question, batch_size](std::int64_t parts) {
                      return divided_question(question, batch_size, parts);
                    }};
  return StepBudget(std::move(asked));
}

SlowerBatch largest_slower_batch(const DryRunRequest& question) {
  SlowerBatch largest;
  const auto fits = [&](std::int64_t batch_size) {
    BudgetAnswer step = step_budget(question, batch_size).at_most_longer(*question.slowdown);
    if (step.reserved_bytes > *question.device_memory_bytes) return false;
    largest = {batch_size, std::move(step)};
    return true;
  };
  largest_where(0, kMostImages, question.program.batch_size, fits);
  return largest;
}

namespace {

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

bool nothing_fits(const LargestBatches& largest) {
  return std::ranges::all_of(largest.allocators,
                             [](const LargestBatch& row) { return row.batch_size == 0; });
}

// Adds the needs of one image, and the largest inference batch that fits.
void add_way_out(DryRun& program, DryRunResult& answer) {
  const DryRunRequest& question = answer.question;
  const DryRunFacts single = program.foresee(1, question.program.mode);
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

// Throws UsageError if no op of the forward pass belongs to the layer.
HeldOutput held_output(const DryRunResult& answer) {
  const std::string& layer = answer.question.hold;
  StepGraph graph = executed_graph(answer);
  const StepOp* last = nullptr;
  for (const StepOp& op : graph.ops) {
    const bool inside = op.layer == layer || op.layer.starts_with(layer + ".");
    if (inside && op.phase == Phase::kForward && !op.outputs.empty()) last = &op;
  }
  if (last == nullptr) {
    throw UsageError(
        fmt::format("--hold: no op of the forward pass belongs to a layer '{}'; "
                    "'skyline summary' lists the layers",
                    layer));
  }
  StepValue& owner = graph.values[graph.values[last->outputs.front()].storage];
  owner.kept = true;
  return {.layer = layer,
          .op = last->name,
          .bytes = align_request(owner.bytes),
          .plan = plan(simulate(graph), answer.question.planner, {}, all_planners())};
}

// Chooses what the program recomputes within its memory, and shows the curve.
void add_budget(DryRunResult& answer) {
  DryRunRequest& question = answer.question;
  const std::optional<std::uint64_t>& bytes = question.program.step.memory_bytes;
  if (!bytes && !question.budgets) return;
  StepBudget budget = step_budget(question, question.program.batch_size);
  if (question.budgets) {
    answer.budgets = budget.curve(kShownBudgets);
    answer.divided = budget.divided();
  }
  if (!bytes) return;
  answer.budget = budget.within(*bytes);
  question.program.savings = answer.budget->savings;
  question.engines->choose(answer.budget->engines);
}

// As decide() does. Without a given memory, the device has room.
bool has_room_to_prefetch(const DryRunRequest& question, const DryRunFacts& step) {
  return !question.program.prefetch || !question.device_memory_bytes ||
         has_room({.device = "cuda", .planner = question.planner}, step,
                  *question.device_memory_bytes);
}

// --- Figures ---

using BytesByName = std::vector<std::pair<std::string, std::uint64_t>>;

// Returns bytes by category name, without categories of zero bytes.
BytesByName by_category(const CategoryBytes& bytes) {
  BytesByName names;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > 0) names.emplace_back(category_name(static_cast<Category>(i)), bytes[i]);
  }
  return names;
}

struct CategoryAnswer {
  std::uint64_t peak_bytes = 0, bytes_at_lower_bound = 0;
};

Rows<CategoryAnswer> rows(const CategoryAnswer*) {
  return {{"peak_bytes", kBytes, "alive at most", &CategoryAnswer::peak_bytes},
          {"bytes_at_lower_bound", kBytes, "where the lower bound is reached",
           &CategoryAnswer::bytes_at_lower_bound}};
}

std::vector<std::pair<std::string, CategoryAnswer>> categories_of(const DryRunResult& answer) {
  const CategoryBytes parts = lower_bound_parts(answer.facts.trace, answer.plan.alignment);
  std::vector<std::pair<std::string, CategoryAnswer>> categories;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (answer.facts.peak_bytes[i] == 0) continue;
    categories.push_back({std::string(category_name(static_cast<Category>(i))),
                          {answer.facts.peak_bytes[i], parts[i]}});
  }
  return categories;
}

std::vector<LayerBytes> layers_of(const DryRunResult& answer) {
  return layer_bytes(answer.facts.run, answer.facts.trace, Grouping::kLayer, answer.plan.alignment);
}

// An allocator on the device, or on one without limit, and its largest batch.
struct ToldAllocator {
  const AllocatorAnswer& row;
  std::optional<LargestBatch> largest;

  const AllocatorUse& use() const { return row.on_device ? *row.on_device : row.unlimited; }
};

// A figure of a use that fits.
template <typename Figure>
auto if_fits(Figure AllocatorUse::*figure) {
  return [figure](const ToldAllocator& told) {
    return told.use().fits ? std::optional<Figure>(told.use().*figure) : std::nullopt;
  };
}

Rows<ToldAllocator> rows(const ToldAllocator*) {
  return {{"fits", "the step fits the device", [](auto& told) { return told.use().fits; }},
          {"peak_reserved", kBytes, "the most taken from the device, resident bytes included",
           if_fits(&AllocatorUse::peak_reserved_bytes)},
          {"peak_reserved_without_limit", kBytes, "the same on an endless device",
           [](auto& told) { return told.row.unlimited.peak_reserved_bytes; }},
          {"device_allocations", kCount, "calls of the device in the first step",
           if_fits(&AllocatorUse::device_allocations)},
          {"device_allocations_after_switch", kCount, "and after it",
           if_fits(&AllocatorUse::later_device_allocations)},
          {"flushes", kCount, "times that cached memory was returned for want of memory",
           if_fits(&AllocatorUse::flushes)},
          {"steps", kCount, "replayed", [](auto& told) { return told.use().steps; }},
          {"problem", "why the step does not fit",
           [](auto& told) {
             return told.use().fits ? std::nullopt : std::optional(told.use().problem);
           }},
          {"largest_batch", kCount, "with --device-memory: the largest that fits",
           if_known(of(&ToldAllocator::largest, &LargestBatch::batch_size))},
          {"largest_batch_proved", "no larger one fits",
           if_known(of(&ToldAllocator::largest, &LargestBatch::proved))}};
}

std::vector<std::pair<std::string, ToldAllocator>> allocators_of(const DryRunResult& answer) {
  std::vector<std::pair<std::string, ToldAllocator>> told;
  for (std::size_t i = 0; i < answer.allocators.size(); ++i) {
    const AllocatorAnswer& row = answer.allocators[i];
    told.push_back({row.unlimited.allocator, {.row = row, .largest = {}}});
    if (answer.largest) told.back().second.largest = answer.largest->allocators[i];
  }
  return told;
}

BytesByName single_images(const DryRunResult& answer) {
  BytesByName bytes;
  for (const AllocatorUse& use : answer.single_image) {
    bytes.emplace_back(use.allocator, use.peak_reserved_bytes);
  }
  return bytes;
}

// A figure of this machine, where the question names it.
template <typename Figure>
auto of_machine(Figure figure) {
  return [figure](const DryRunResult& answer) {
    return of(&DryRunRequest::machine, figure)(answer.question);
  };
}

IfKnown<Value> allocator_options_of(const DryRunResult& answer) {
  if (answer.question.allocators.empty()) return {};
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  write_allocator_options(answer.question.allocators.front().allocator_options, json);
  return {json};
}

}  // namespace

Rows<LayerBytes> rows(const LayerBytes*) {
  return {{"layer", "its name", &LayerBytes::layer},
          {"resident_bytes", kBytes, "that live across steps", &LayerBytes::resident_bytes},
          {"peak_bytes", kBytes, "alive at most", &LayerBytes::peak_bytes},
          {"bytes_at_lower_bound", kBytes, "where the lower bound is reached",
           &LayerBytes::bytes_at_lower_bound},
          {"categories_at_lower_bound", "the same by category",
           [](auto& layer) { return by_category(layer.categories_at_lower_bound); }}};
}

Rows<SlowerBatch> rows(const SlowerBatch*) {
  return {
      {"batch_size", kCount, "0: none fits", &SlowerBatch::batch_size},
      {"reserved", kBytes, "by its step", [](auto& slower) { return slower.step.reserved_bytes; }},
      {"overhead", kShare, "of a step that it takes longer",
       [](auto& slower) { return slower.step.overhead(); }},
      {"recomputed", kCount, "values that are recomputed",
       [](auto& slower) { return slower.step.recomputed; }},
      {"rounds", "chains that run in rounds of images",
       [](auto& slower) { return rounds_text(slower.step.savings); }}};
}

const AllocatorAnswer* least_allocator(const DryRunResult& answer) {
  const AllocatorAnswer* least = nullptr;
  for (const AllocatorAnswer& row : answer.allocators) {
    if (!row.unlimited.fits) continue;
    const bool less = least == nullptr ||
                      row.unlimited.peak_reserved_bytes <= least->unlimited.peak_reserved_bytes;
    if (less) least = &row;
  }
  return least;
}

DryRunResult answer(const DryRunRequest& asked) {
  const double started = now_seconds();
  DryRunResult answer{.question = asked};
  const DryRunRequest& question = answer.question;
  add_budget(answer);
  DryRun program = make_dry_run(question.program);
  const auto foreseen = [&] {
    return program.foresee(question.program.batch_size, question.program.mode, DryRun::Graph::kOn);
  };
  answer.facts = foreseen();
  if (!has_room_to_prefetch(question, answer.facts)) {
    answer.question.program.prefetch = false;
    program = make_dry_run(question.program);
    answer.facts = foreseen();
  }
  answer.program_step = in_program_sequence(answer.facts.step.graph, answer.facts.program_numbers);
  answer.plan = plan(answer.facts.trace, question.planner, {}, all_planners());
  answer.order = order_of(answer);
  if (!question.hold.empty()) answer.held = held_output(answer);
  for (const ReplayChoice& choice : question.allocators) {
    answer.allocators.push_back(allocator_answer(question, answer.facts, choice));
  }
  answer.strategies =
      strategies_of(program, question.program, answer.facts.step.graph, question.planner);
  if (question.slowdown) answer.slower = largest_slower_batch(question);
  if (question.device_memory_bytes) {
    answer.largest =
        largest_batches(question.program, *question.device_memory_bytes, question.allocators);
    if (nothing_fits(*answer.largest)) add_way_out(program, answer);
  }
  if (const AllocatorAnswer* least = least_allocator(answer); question.machine && least) {
    const std::ptrdiff_t row = least - answer.allocators.data();
    answer.machine_batch = largest_batches(question.program, question.machine->bytes,
                                           {question.allocators[static_cast<std::size_t>(row)]})
                               .allocators.front();
  }
  answer.seconds = now_seconds() - started;
  return answer;
}

StepGraph executed_graph(const DryRunResult& answer) {
  StepGraph graph = answer.facts.step.graph;
  if (!answer.question.program.step.in_place) {
    for (StepOp& op : graph.ops) op.in_place.clear();
  }
  return graph;
}

Rows<HeldOutput> rows(const HeldOutput*) {
  return {{"layer", "whose output is held", &HeldOutput::layer},
          {"op", "that writes it", &HeldOutput::op},
          {"bytes", kBytes, "kept for the whole step", &HeldOutput::bytes},
          {"planned", kBytes, "peak of the step's plan then",
           [](auto& held) { return held.plan.peak; }}};
}

Rows<DryRunResult> rows(const DryRunResult*) {
  return {
      {"model", "the network", [](auto& result) { return result.question.program.model; }},
      {"batch_size", kCount, "images or sentences of a batch",
       [](auto& result) { return result.question.program.batch_size; }},
      {"micro_batches", kCount, "batches of a step",
       [](auto& result) { return result.question.program.step.micro_batches; }},
      {"mode", "training or inference",
       [](auto& result) {
         return result.question.program.mode == Mode::kTraining ? "training" : "inference";
       }},
      {"workspace", kBytes, "that each convolution asks for; null: what it needs",
       [](auto& result) { return result.question.program.emulate.convolution_workspace_bytes; }},
      {"parameters", kCount, "of the network",
       [](auto& result) { return result.facts.parameters; }},
      {"trained_parameters", kCount, "of these those that are not frozen; 0 in inference",
       [](auto& result) { return result.facts.trained_parameters; }},
      {"resident_bytes", kBytes, "that live across steps",
       [](auto& result) { return result.facts.resident_bytes; }},
      {"resident", "the same by category",
       [](auto& result) {
         return by_category(resident_parts(result.facts.run, result.plan.alignment));
       }},
      {"blocks", kCount, "requests of the step",
       [](auto& result) { return result.facts.trace.size(); }},
      {"moved_bytes", kBytes, "that its ops read and write",
       [](auto& result) { return moved_bytes(result.facts.step); }},
      {"lower_bound", kBytes, "no plan needs less",
       [](auto& result) { return result.plan.lower_bound; }},
      {"peak", kBytes, "the highest byte of the plan",
       [](auto& result) { return result.plan.peak; }},
      {"gap", kShare, "(peak − lower bound) / lower bound",
       [](auto& result) { return result.plan.gap(); }},
      {"planner", "who planned", [](auto& result) { return result.plan.planner; }},
      {"proved_optimal", "the peak is a proved bound",
       [](auto& result) { return result.plan.proved_optimal; }},
      {"planning_seconds", kSeconds, "of planning",
       [](auto& result) { return result.plan.seconds; }},
      {"validation_seconds", kSeconds, "of the validator",
       [](auto& result) { return result.plan.validation_seconds; }},
      {"order", "of the step's ops", &DryRunResult::order},
      {"held", "with --hold: the step if the user holds that layer's output",
       [](auto& result) { return if_known(result.held); }},
      {"budget", "with --memory: the step that fits", &DryRunResult::budget},
      {"categories", "bytes by category", categories_of},
      {"layers", "bytes of each layer", layers_of},
      {"allocators", "the step under each allocator", allocators_of},
      {"strategies", "the step under each strategy of the MXNet note", &DryRunResult::strategies},
      {"allocator_options", Unit::kByName, "options of that name", allocator_options_of},
      {"budgets", "with --budgets: bytes against time",
       [](auto& result) { return only_if(!result.budgets.empty(), result.budgets); }},
      {"smaller_batches", "with --budgets: the same for --micro-batches",
       [](auto& result) { return only_if(!result.divided.empty(), result.divided); }},
      {"slower_batch", "with --slowdown: the largest batch that recomputes",
       [](auto& result) { return if_known(result.slower); }},
      {"device_memory", kBytes, "that was given",
       [](auto& result) { return if_known(result.question.device_memory_bytes); }},
      {"largest_batch_ceiling", kCount, "with --device-memory: no larger batch can fit",
       if_known(of(&DryRunResult::largest, &LargestBatches::ceiling))},
      {"batch_sizes_run", kCount, "with --device-memory: sizes that were tried",
       if_known(of(&DryRunResult::largest, &LargestBatches::sizes_run))},
      {"one_image", "if no batch fits: bytes reserved for one image by each allocator",
       [](auto& result) { return only_if(!result.single_image.empty(), single_images(result)); }},
      {"largest_inference_batch", kCount, "if no batch fits: the largest that infers",
       [](auto& result) { return if_known(result.inference_batch); }},
      {"machine_memory", kBytes, "that this machine leaves",
       if_known(of_machine(&MachineMemory::bytes))},
      {"machine_limit", "the machine's tightest limit", if_known(of_machine(limit_of))},
      {"machine_batch", kCount, "the largest that this machine fits, under the least allocator",
       if_known(of(&DryRunResult::machine_batch, &LargestBatch::batch_size))},
      {"seconds", kSeconds, "of the command", &DryRunResult::seconds}};
}

}  // namespace skyline
