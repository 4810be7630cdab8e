#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "memory/errors.h"
#include "memory/solvers/solvers.h"
#include "train/checkpoints/files.h"
#include "train/commands/commands.h"
#include "train/commands/output_file.h"
#include "train/lab/load_file.h"
#include "train/lab/plan_answer.h"
#include "train/options/memory_options.h"
#include "train/report/explanation.h"
#include "train/report/plan_explanation.h"
#include "train/report/plan_map.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostExplainedBlocks = 20'000;  // a larger page would exceed 20 MB
constexpr std::string_view kExplainable = "best-fit";

struct PlanCommandOptions {
  fs::path trace;
  std::string planner = std::string(kDefaultPlanner);
  std::optional<std::uint64_t> capacity, alignment;
  std::optional<double> time_limit_seconds;
  std::int64_t threads =
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  std::int64_t seed = 0;
  bool ignore_offsets = false;
  fs::path output, explanation;
};

// A file that is written once all files are complete.
struct WrittenFile {
  fs::path path;
  std::string text;
};

// Rejects invalid options before any work.
void check_options(const PlanCommandOptions& options) {
  for (const fs::path& file : {options.output, options.explanation}) require_folder_of(file);
  if (options.explanation.empty()) return;
  if (options.time_limit_seconds) {
    throw UsageError("--explain shows a whole pass; it takes no --time-limit");
  }
  const std::string suffix = options.explanation.extension().string();
  if (suffix != ".html" && suffix != ".json") {
    throw UsageError(
        fmt::format("--explain writes a page and its data; give it FILE.html or "
                    "FILE.json, not '{}'",
                    options.explanation.string()));
  }
}

Trace wanted_trace(const PlanCommandOptions& options) {
  Trace trace = load_trace(options.trace);
  if (options.ignore_offsets) trace.fixed_offsets.clear();
  if (options.alignment) trace.alignments.clear();
  if (options.explanation.empty()) return trace;
  if (trace.size() > kMostExplainedBlocks) {
    throw UsageError(fmt::format("--explain takes traces of up to {} blocks, this one has {}",
                                 kMostExplainedBlocks, trace.size()));
  }
  if (trace.has_fixed_offsets()) {
    throw UsageError("--explain needs a trace without fixed offsets; see --ignore-offsets");
  }
  return trace;
}

std::string name_of(const fs::path& trace) {
  return trace == "-" ? "standard input" : trace.filename().string();
}

PlanResult answer_for(const PlanCommandOptions& options, const Trace& trace) {
  PlanRequest question{.trace = trace, .planner = options.planner};
  question.options.alignment = options.alignment.value_or(1);
  question.options.capacity = options.capacity;
  question.options.seed = static_cast<std::uint64_t>(options.seed);
  question.options.threads = static_cast<int>(options.threads);
  question.options.time_limit_seconds = options.time_limit_seconds;
  try {
    return answer(question);
  } catch (const TraceError& error) {  // a sum above 2^63 − 1 is an input error
    throw UsageError(fmt::format("{}: {}", name_of(options.trace), error.facts().problem));
  }
}

// Explains a best-fit planner; where another one made the plan, explains best-fit on the same
// trace.
std::string explained_planner(const PlanCommandOptions& options) {
  return std::string(best_fit_key(options.planner) ? options.planner : kExplainable);
}

// Returns a best-fit planner's plan of the trace, which the files explain.
Plan add_explanation(const PlanCommandOptions& options, const Trace& trace, std::uint64_t alignment,
                     std::vector<WrittenFile>& files) {
  const std::string planner = explained_planner(options);
  BestFitLog log;
  Plan plan = skyline::plan(trace, planner, {.alignment = alignment, .log = &log});
  const PlanExplanation story = explain_plan(trace, alignment, *best_fit_key(planner), log);
  const ExplainedPlan explained{trace, plan, story, name_of(options.trace)};
  fs::path page = options.explanation, data = options.explanation;
  files.push_back({page.replace_extension(".html"), render_explanation(explained)});
  files.push_back({data.replace_extension(".json"), explanation_json(explained, 1) + "\n"});
  return plan;
}

// Writes the files once all are complete.
void write_files(const PlanCommandOptions& options, const Trace& trace, const Plan& plan,
                 Console& console) {
  std::vector<WrittenFile> files;
  if (!options.output.empty()) {
    std::ostringstream text;
    write_plan_csv(text, trace, plan);
    files.push_back({options.output, std::move(text).str()});
  }
  std::optional<Plan> explained;
  if (!options.explanation.empty()) {
    explained = add_explanation(options, trace, plan.alignment, files);
  }
  for (const WrittenFile& file : files) {
    write_atomically(file.path, file.text);
    console.say(fmt::format("wrote {}", file.path.string()));
  }
  if (explained && explained->planner != plan.planner) {
    console.say(fmt::format("the page explains {}, which needs {} bytes; this plan, by {}, {}",
                            explained->planner, explained->peak, plan.planner, plan.peak));
  }
}

CommandResult run(const PlanCommandOptions& options, Console& console) {
  check_options(options);
  const Trace trace = wanted_trace(options);
  const PlanResult answer = answer_for(options, trace);
  CommandResult result{.json = json_text(value_of(answer)), .text = answer.text()};
  result.exit_code = answer.feasible().value_or(false) ? 0 : 1;
  if (!answer.plan) {
    console.say(fmt::format("no plan fits: the lower bound is {} bytes, the capacity {} bytes",
                            answer.lower_bound, *answer.capacity));
    return result;
  }
  write_files(options, trace, *answer.plan, console);
  constexpr int kLabelColumns = 20, kRows = 16;
  const int columns = std::clamp(console.facts().width - kLabelColumns, 20, 100);
  result.text += "\n" + plan_map(trace, *answer.plan, columns, kRows, console.facts().colour);
  return result;
}

std::string planner_help() {
  std::string help = "Packing algorithm.";
  for (const PlannerEntry& entry : all_planners()) {
    help += fmt::format("\n{}: {}.", entry.name, entry.summary);
  }
  return help + "\nOne of";
}

void add_search_options(OptionList& list, PlanCommandOptions& options) {
  list.add("--planner", choice(options.planner, planner_names(), "planner"), planner_help());
  list.add("--capacity", bytes(options.capacity),
           "Stop at the first plan within it; exit with 1 if there is none or none was found");
  list.add("--time-limit", number(options.time_limit_seconds, 0, kDay),
           "Seconds to plan; where no pass ends in time, program-order's plan is given and said so "
           "(default: a fixed amount of work, repeatable)");
  list.add("--threads", integer(options.threads, 1, kMostThreads),
           "Threads of the search; without a time limit the plan does not depend on them");
  list.add("--seed", integer(options.seed, 0, std::numeric_limits<std::int64_t>::max()),
           "Seed of the randomized planners");
  list.add("--alignment", bytes(options.alignment),
           "Round all sizes and offsets up to multiples of it (default: each block begins at a "
           "multiple of its own in the trace's column, and no size is rounded)");
  list.add("--ignore-offsets", flag(options.ignore_offsets),
           "Plan all blocks anew instead of keeping the offsets of the file");
}

void add_file_options(OptionList& list, PlanCommandOptions& options) {
  list.add("--output", path(options.output),
           "Write the plan: the trace with offsets and a certificate");
  list.add(
      "--explain", path(options.explanation, "FILE.html"),
      "Write how a best-fit planner plans this trace, step by step: FILE.html to step through, "
      "and FILE.json. Explains best-fit unless --planner names one of its kind; the plan stays "
      "that of --planner");
}

}  // namespace

CommandRun declare_plan(OptionList& list) {
  const auto options = std::make_shared<PlanCommandOptions>();
  list.add("TRACE", path(options->trace),
           "CSV of a trace: id,lower,upper,size; - reads standard input", kRequired);
  add_search_options(list, *options);
  add_file_options(list, *options);
  list.prints(keys<PlanResult>);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace skyline
