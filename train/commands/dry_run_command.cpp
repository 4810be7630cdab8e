#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/dry_run.h"
#include "train/memory_facts.h"
#include "train/options.h"
#include "train/sizes.h"
#include "train/table.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  ModelOptions model;
  std::int64_t batch_size = 32;
  bool infer = false;
  bool in_place = true;
  std::vector<std::string> allocators = allocator_names();
  std::string planner{kDefaultPlanner};
  std::optional<std::uint64_t> capacity_bytes;
};

DryRunOptions dry_run_options(const Arguments& arguments) {
  return {.model = arguments.model.model,
          .shape = shape_of(arguments.model),
          .batch_size = arguments.batch_size,
          .mode = arguments.infer ? Mode::kInference : Mode::kTraining,
          .in_place = arguments.in_place};
}

// What one allocator reserves over a few steps; empty figures and the reason when the device is too
// small. The plan comes from `trace`, so that the planned run needs no warm-up on the pool.
Json run_allocator(const Arguments& arguments, const std::string& name, const Trace& trace) {
  constexpr int kSteps = 3;
  MemoryOptions memory{.device = "simulated",
                       .capacity_bytes = arguments.capacity_bytes,
                       .allocator = name,
                       .planner = arguments.planner};
  const DryRunOptions options = dry_run_options(arguments);
  try {
    Experiment experiment(memory,
                          {.execute = false, .mode = options.mode, .in_place = options.in_place},
                          find_model(options.model), options.shape);
    Batch batch;
    batch.size = static_cast<std::size_t>(options.batch_size);
    if (Session* session = experiment.memory.session()) {
      session->adopt(trace, options.mode == Mode::kTraining ? training_key(batch.size)
                                                            : inference_key(batch.size));
    }
    std::uint64_t device_allocations_before = 0;
    for (int i = 0; i < kSteps; ++i) {
      experiment.step(batch, {});
      if (i == 0) device_allocations_before = experiment.memory.statistics().device_allocations;
    }
    const MemoryFacts facts = memory_facts(experiment, name, device_allocations_before);
    Json json = to_json(facts);
    json.erase("allocator");
    json["fits"] = true;
    return json;
  } catch (const OutOfMemory& error) {
    return {{"peak_reserved", nullptr}, {"fits", false}, {"problem", error.what()}};
  }
}

// The four strategies: writing in place and sharing, each on and off.
Json strategies(const StepGraph& graph, std::uint64_t alignment) {
  Json rows = Json::array();
  for (const bool in_place : {false, true}) {
    for (const bool sharing : {false, true}) {
      const Trace trace = simulate(graph, {.in_place = in_place, .sharing = sharing});
      rows.push_back({{"in_place", in_place},
                      {"sharing", sharing},
                      {"blocks", trace.size()},
                      {"lower_bound", lower_bound_bytes(trace, alignment)}});
    }
  }
  return rows;
}

Json categories(const DryRunFacts& facts, std::uint64_t alignment) {
  const auto parts = lower_bound_parts(facts.trace, alignment);
  Json json = Json::object();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (facts.peak_bytes[i] == 0) continue;
    json[std::string(category_name(static_cast<Category>(i)))] = {
        {"peak_bytes", facts.peak_bytes[i]}, {"bytes_at_lower_bound", parts[i]}};
  }
  return json;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::string text_of(const Json& json) {
  std::string text = fmt::format(
      "{} at batch {}, {}: {} parameters, {} resident\n"
      "one step: {} requests, lower bound {}, planned {}, gap {:.2f} %{}\n\n",
      json["model"].get<std::string>(), json["batch_size"].get<std::int64_t>(),
      json["mode"].get<std::string>(), json["parameters"].get<std::int64_t>(),
      format_bytes(json["resident_bytes"]), json["blocks"].get<std::int64_t>(),
      format_bytes(json["lower_bound"]), format_bytes(json["peak"]),
      100 * json["gap"].get<double>(),
      json["proved_optimal"].get<bool>() ? ", proved optimal" : "");
  Table by_category({{"category", Align::kLeft}, {"peak"}, {"at the lower bound"}});
  for (const auto& [name, row] : json["categories"].items()) {
    const std::uint64_t part = row["bytes_at_lower_bound"];
    by_category.add_row(
        {name, format_bytes(row["peak_bytes"]), part > 0 ? format_bytes(part) : ""});
  }
  Table by_allocator({{"allocator", Align::kLeft}, {"reserved, resident included"}});
  for (const auto& [name, row] : json["allocators"].items()) {
    by_allocator.add_row(
        {name, row["fits"].get<bool>() ? format_bytes(row["peak_reserved"]) : "does not fit"});
  }
  Table by_strategy({{"in place", Align::kLeft},
                     {"sharing", Align::kLeft},
                     {"requests"},
                     {"most bytes at once"}});
  for (const Json& row : json["strategies"]) {
    by_strategy.add_row({yes_no(row["in_place"]), yes_no(row["sharing"]),
                         std::to_string(row["blocks"].get<std::int64_t>()),
                         format_bytes(row["lower_bound"])});
  }
  return text + by_category.str() + "\n" + by_allocator.str() + "\n" + by_strategy.str();
}

CommandResult run(const Arguments& arguments) {
  const DryRunFacts facts = dry_run(dry_run_options(arguments));
  const Plan found = plan(facts.trace, arguments.planner);
  CommandResult result;
  Json allocators = Json::object();
  for (const std::string& given : arguments.allocators) {
    const std::string name = canonical_allocator_name(given);
    allocators[name] = run_allocator(arguments, name, facts.trace);
  }
  result.json = {{"model", arguments.model.model},
                 {"batch_size", arguments.batch_size},
                 {"mode", arguments.infer ? "inference" : "training"},
                 {"parameters", facts.parameters},
                 {"resident_bytes", facts.resident_bytes},
                 {"blocks", facts.trace.size()},
                 {"lower_bound", found.lower_bound},
                 {"peak", found.peak},
                 {"gap", found.gap()},
                 {"planner", found.planner},
                 {"proved_optimal", found.proved_optimal},
                 {"planning_seconds", found.seconds},
                 {"categories", categories(facts, found.alignment)},
                 {"allocators", allocators},
                 {"strategies", strategies(facts.graph, found.alignment)}};
  result.text = text_of(result.json);
  return result;
}

}  // namespace

CommandRun declare_dry_run(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_model_options(app, arguments->model);
  add_integer(app, "--batch-size", arguments->batch_size, 1, 1'000'000, "Images a step");
  app.add_flag("--infer", arguments->infer, "An inference step instead of a training step");
  app.add_flag("!--no-in-place", arguments->in_place, "Never write an output over an input");
  add_choices(app, "--allocators", arguments->allocators, allocator_names_and_aliases(),
              "allocator", "Allocators to compare");
  std::vector<std::string> names;
  for (const PlannerEntry& entry : planners()) names.emplace_back(entry.name);
  add_choice(app, "--planner", arguments->planner, names, "planner", "Who packs the step");
  add_bytes(app, "--capacity", arguments->capacity_bytes, "Of the device; unlimited otherwise");
  return [arguments](Console&) { return run(*arguments); };
}

}  // namespace skyline
