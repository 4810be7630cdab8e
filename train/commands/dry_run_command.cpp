#include <fmt/format.h>
#include <omp.h>

#include <memory>
#include <sstream>

#include "framework/ranks/rank_transport.h"
#include "memory/device/cuda_device.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/graph_file.h"
#include "memory/solvers/solvers.h"
#include "train/checkpoints/files.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/decide/live_parts.h"
#include "train/decide/program_graph.h"
#include "train/lab/dry_run/dry_run_answer.h"
#include "train/lab/lanes/lane_answer.h"
#include "train/lab/ranks/rank_answer.h"
#include "train/lab/together/together.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostLanes = 1'000'000;  // more than any step has ops
constexpr const char* kOfTraining =
    "--memory, --budgets and --slowdown are for training steps: leave out --infer";

constexpr const char* kKeepsAll =
    "--works shows a training step of the CPU that keeps all values: leave out --infer, --memory, "
    "--budgets, --slowdown and --device cuda";
constexpr const char* kOfOurOps =
    "--memory, --budgets and --slowdown save bytes of our own ops: leave out --as-chainer";

struct DryRunArguments {
  ModelOptions model;
  std::int64_t batch_size = 32;
  std::int64_t sentence_words = 30;
  std::int64_t threads = 0;
  bool infer = false, as_chainer = false;
  StepOptions step;
  std::vector<std::string> allocators = allocator_names();
  AllocatorOptions allocator_options;
  std::string planner{kDefaultPlanner};
  std::string hold;
  std::optional<std::uint64_t> device_memory_bytes;
  std::string device = "cpu";
  DeviceOptions device_options;
  std::filesystem::path trace, graph, lanes_page, ranks_page;
  bool budgets = false, works = false;
  double slowdown = 0;  // per cent
  std::int64_t lanes = 0, ranks = 0;
  std::optional<std::int64_t> path_colours;  // unset: all
  LinkOptions link;

  bool has_budget() const { return step.memory_bytes || budgets || slowdown > 0; }
};

// The answer for the step and, if asked for, those for its lanes and ranks and under all works.
struct DryRunAnswer {
  DryRunResult step;
  std::optional<LaneAnswer> lanes;
  std::optional<RankAnswer> ranks;
  std::optional<Together> works;
};

Rows<DryRunAnswer> rows(const DryRunAnswer*) {
  return {{"", "the step", &DryRunAnswer::step},
          {"lanes", "with --lanes: ops that run side by side", &DryRunAnswer::lanes},
          {"scaling", "with --ranks: processes that train together", &DryRunAnswer::ranks},
          {"works", "with --works: the step under PGMO, the MXNet note, OLLA and others",
           &DryRunAnswer::works}};
}

// On the CPU, every convolution requests --workspace bytes; on a CUDA device it is a limit.
DryRunOptions program_of(const DryRunArguments& arguments, const LiveParts& live) {
  DryRunOptions program = dry_run_options(arguments.model, arguments.step, arguments.infer);
  program.sentence_words = arguments.sentence_words;
  program.batch_size = arguments.batch_size;
  program.prefetch = arguments.device == "cuda" && arguments.device_options.prefetch &&
                     !arguments.infer && !arguments.has_budget() &&
                     task_of(arguments.model.model).trait == kImagesOnly;
  program.emulate.chainer_ops = arguments.as_chainer;
  if (arguments.as_chainer) program.step.in_place = false;
  program.compute = make_compute(arguments.device, arguments.device_options, live, 1, true);
  if (arguments.device == "cpu") {
    program.emulate.convolution_workspace_bytes = arguments.device_options.workspace_bytes;
  }
  return program;
}

StepSeconds seconds_of(const DryRunArguments& arguments) {
  return step_seconds(arguments.step.profile,
                      {.model = arguments.model.model,
                       .device = arguments.device,
                       .batch_size = arguments.batch_size,
                       .threads = threads_for(arguments.model.model, arguments.threads)});
}

DryRunRequest question_of(const DryRunArguments& arguments, const LiveParts& live) {
  const std::size_t commit_bytes = arguments.device == "cpu" ? kCommitBytes : kCudaCommitBytes;
  DryRunRequest question{.program = program_of(arguments, live),
                         .allocators = {},
                         .device_memory_bytes = arguments.device_memory_bytes,
                         .machine = {},
                         .planner = arguments.planner,
                         .hold = arguments.hold,
                         .commit_bytes = commit_bytes};
  if (arguments.device == "cpu" && !arguments.device_memory_bytes) {
    question.machine = machine_memory();
  }
  if (arguments.has_budget() || arguments.lanes > 0 || arguments.ranks > 0) {
    question.seconds = seconds_of(arguments);
  }
  if (arguments.has_budget()) {
    question.budgets = arguments.budgets;
    question.fits_engines = fits_engines(arguments.device_options);
    question.engines = std::make_shared<TriedEngines>(live.engines);
    if (arguments.slowdown > 0) question.slowdown = arguments.slowdown / 100;
  }
  for (const std::string& given : arguments.allocators) {
    question.allocators.push_back({.allocator = given,
                                   .allocator_options = arguments.allocator_options,
                                   .planner = arguments.planner,
                                   .planner_table = all_planners(),
                                   .commit_bytes = commit_bytes});
  }
  return question;
}

DryRunAnswer answer_to(const DryRunArguments& arguments, const LiveParts& live) {
  DryRunAnswer found{
      .step = answer(question_of(arguments, live)), .lanes = {}, .ranks = {}, .works = {}};
  const DryRunRequest& question = found.step.question;
  const StepSeconds& seconds = question.seconds;
  if (arguments.lanes > 0) {
    found.lanes =
        lane_answer(executed_graph(found.step), seconds.of(found.step.facts.step),
                    static_cast<std::size_t>(arguments.lanes), seconds.source,
                    static_cast<std::size_t>(arguments.path_colours.value_or(kMostLanes)));
  }
  if (arguments.ranks > 0) {
    found.ranks = rank_answer(question.program, seconds, static_cast<std::size_t>(arguments.ranks),
                              arguments.link.link());
  }
  if (arguments.works) found.works = reproduce_together({.program = question.program});
  return found;
}

std::string ranks_page(const RankAnswer& answer, const std::string& title) {
  RankAnswer sharded = answer;
  sharded.steps = sharded.sharded;
  const std::vector<RankCurve> curves = {
      {.name = "each rank updates all", .answer = answer},
      {.name = "--shard-optimizer: each updates its share", .answer = std::move(sharded)}};
  return rank_page(curves, title);
}

void write_files(const DryRunArguments& arguments, const DryRunAnswer& answered) {
  const DryRunResult& step = answered.step;
  const std::string title =
      fmt::format("{} at batch {} on ", arguments.model.model, arguments.batch_size);
  if (!arguments.trace.empty()) {
    std::ostringstream csv;
    write_trace_csv(csv, step.facts.trace, step.plan.alignment);
    write_atomically(arguments.trace, csv.view());
  }
  if (!arguments.graph.empty()) {
    std::ostringstream text;
    write_graph(text,
                program_graph(step.program_step, step.question.program.step.in_place,
                              step.facts.resident_bytes),
                arguments.model.model);
    write_atomically(arguments.graph, text.view());
  }
  if (!arguments.lanes_page.empty()) {
    write_atomically(arguments.lanes_page,
                     lane_page(*answered.lanes, executed_graph(step),
                               step.question.seconds.of(step.facts.step), title + "lanes"));
  }
  if (!arguments.ranks_page.empty()) {
    write_atomically(arguments.ranks_page, ranks_page(*answered.ranks, title + "ranks"));
  }
}

CommandResult run(const OptionList& list, DryRunArguments arguments) {
  check_given(list, arguments.model.model);
  for (std::string& name : arguments.allocators) name = canonical_allocator_name(name);
  check_given_for(list, arguments.allocators);
  list.check_rules();
  check_rank_options(list, arguments.ranks > 0);
  if (arguments.works && arguments.device != "cpu") throw UsageError(kKeepsAll);
  for (const auto& file :
       {arguments.trace, arguments.graph, arguments.lanes_page, arguments.ranks_page}) {
    require_folder_of(file);
  }
  arguments.device_options = resolved(arguments.device_options, arguments.device);
  // The backend's workspaces depend on the number of threads, so use as many as training would.
  omp_set_num_threads(static_cast<int>(threads_for(arguments.model.model, arguments.threads)));
  const LiveParts live{.engines = read_engines(arguments.device_options, arguments.device)};
  const DryRunAnswer answered = or_refused([&] { return answer_to(arguments, live); });
  write_files(arguments, answered);
  return told(answered, dry_run_text(answered.step) +
                            (answered.lanes ? "\n" + answered.lanes->text() : "") +
                            (answered.ranks ? "\n" + answered.ranks->text() : "") +
                            (answered.works ? "\n" + together_text(*answered.works) : ""));
}

}  // namespace

CommandRun declare_dry_run(OptionList& list) {
  const auto arguments = std::make_shared<DryRunArguments>();
  add_model_options(list, arguments->model);
  list.add("--batch-size", integer(arguments->batch_size, 1, kMostImages),
           "Images, sentences or windows of a batch");
  list.add("--sentence-words", integer(arguments->sentence_words, 1, 10'000),
           "Words per sentence of seq2seq, source and target", kTranslationOnly);
  list.add("--optimizer", choice(arguments->model.optimizer, optimizer_names(), "optimizer"),
           "Optimizer (default: sgd for images, adam for seq2seq, adamw for gpts)");
  list.add("--infer", flag(arguments->infer), "Run an inference step instead of a training step")
      .excludes("--memory", kOfTraining)
      .excludes("--budgets", kOfTraining)
      .excludes("--slowdown", kOfTraining);
  add_step_options(list, arguments->step);
  list.add("--as-chainer", flag(arguments->as_chainer),
           "Run ops as Chainer 3 has them, which PGMO measured: none writes in place, each relu is "
           "an op, gradients are added as they arrive, an LSTM packs its weights in each call")
      .excludes("--memory", kOfOurOps)
      .excludes("--budgets", kOfOurOps)
      .excludes("--slowdown", kOfOurOps);
  add_budget_options(list, arguments->step);
  list.add("--budgets", flag(arguments->budgets),
           "Show the curve of bytes against seconds, from all kept to the least possible");
  list.add("--slowdown", number(arguments->slowdown, 0, 1000),
           "With --device-memory: the largest batch whose step takes at most this many per cent "
           "longer")
      .needs({"--device-memory"})
      .excludes("--profile",
                "--slowdown tries other batches than the profile's: leave out --profile");
  add_device_option(list, arguments->device,
                    "Device to size the step for; cuda needs --engines but no GPU");
  add_device_options(list, arguments->device_options);
  list.add("--capacity,--device-memory", some_bytes(arguments->device_memory_bytes, "hold nothing"),
           "Say whether the step fits this device memory, and the largest batch that does "
           "(default: say whether it fits this machine)");
  list.add("--allocators", choices(arguments->allocators, replayed_names(), "allocator"),
           "Allocators to compare");
  add_allocator_options(list, arguments->allocator_options);
  list.find("--no-bfc-growth")
      ->needs({"--device-memory", "--bfc-limit"},
              "--no-bfc-growth reserves the whole device at once: give --device-memory or "
              "--bfc-limit");
  add_planner_option(list, arguments->planner);
  list.add("--threads", integer(arguments->threads, 0, kMostThreads),
           "Threads (0: automatic, 1 for small models, else all cores)");
  list.add("--hold", text(arguments->hold, "LAYER"),
           "Show what the step takes if the user holds this layer's output to its end");
  list.add("--works", flag(arguments->works),
           "Also show the step under PGMO, the MXNet note, OLLA, pools and our plans, as "
           "'skyline reproduce together' does")
      .excludes("--infer", kKeepsAll)
      .excludes("--memory", kKeepsAll)
      .excludes("--budgets", kKeepsAll)
      .excludes("--slowdown", kKeepsAll);
  list.add("--lanes", integer(arguments->lanes, 1, kMostLanes),
           "Show what running the step's ops on this many lanes (workers) costs in bytes and gains "
           "in seconds");
  list.add(
          "--path-colours", integer(arguments->path_colours, 1, kMostLanes),
          "With --lanes: only this many paths of ops, the longest first, get a colour of the MXNet "
          "note (default: all)")
      .needs({"--lanes"});
  list.add("--ranks", integer(arguments->ranks, 1, kMostRanks),
           "Show the step on 1, 2, 4, … up to this many processes that train together: bytes, "
           "traffic, seconds")
      .excludes("--infer", "--ranks sums gradients: leave out --infer");
  add_link_options(list, arguments->link);
  list.add(
      "--write-trace", path(arguments->trace, "FILE.csv"),
      "Write the step's requests as MiniMalloc's CSV, for 'skyline plan'; a run's trace.csv is "
      "the same if the dry run foresees its step");
  list.add("--write-graph", path(arguments->graph, "FILE.json"),
           "Write the step's ops in the program's sequence, for 'skyline order'");
  list.add("--write-lanes", path(arguments->lanes_page, "FILE.html"),
           "Write a page of the lanes: plans, bytes, seconds, and which op runs where")
      .needs({"--lanes"});
  list.add("--write-ranks", path(arguments->ranks_page, "FILE.html"),
           "Write a page of the ranks: curves of seconds against ideal, hidden sums and bytes")
      .needs({"--ranks"});
  list.prints(keys<DryRunAnswer>);
  return [&list, arguments](Console&) { return run(list, *arguments); };
}

}  // namespace skyline
