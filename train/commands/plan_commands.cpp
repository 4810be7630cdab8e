// The commands on plans of a trace: plan and check.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "memory/errors.h"
#include "memory/plan.h"
#include "memory/solvers/pair_programs.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"
#include "train/cli/byte_sizes.h"
#include "train/commands/commands.h"
#include "train/lab/load_file.h"
#include "train/lab/plan_answer.h"
#include "train/options/memory_options.h"
#include "train/report/explanation.h"
#include "train/report/plan_map.h"

namespace skyline {

namespace fs = std::filesystem;

Rows<PlanCertificate> rows(const PlanCertificate*) {
  return {
      {"planner", "who planned", &PlanCertificate::planner},
      {"peak", kBytes, "the highest byte in use", &PlanCertificate::peak},
      {"lower_bound", kBytes, "no plan needs less", &PlanCertificate::lower_bound},
      {"proved_bound", kBytes, "the best bound that was proved", &PlanCertificate::proved_bound},
      {"gap", kShare, "(peak − lower bound) / lower bound", &PlanCertificate::gap},
      {"proved_optimal", "the peak is the proved bound", &PlanCertificate::proved_optimal},
      {"fixed_blocks", kCount, "blocks whose offset the trace states",
       &PlanCertificate::fixed_blocks},
      {"seed", kNumber, "of randomized planners", &PlanCertificate::seed},
      {"seconds", kSeconds, "of planning", &PlanCertificate::seconds}};
}

namespace {

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
  fs::path output, explanation, program;
};

// A file that is written once all files are complete.
struct WrittenFile {
  fs::path path;
  std::string text;
};

// Rejects invalid options before any work.
void check_options(const PlanCommandOptions& options) {
  for (const fs::path& file : {options.output, options.explanation, options.program}) {
    require_folder_of(file);
  }
  if (!options.program.empty() && options.program.extension() != ".lp" &&
      options.program.extension() != ".mps") {
    throw UsageError(
        fmt::format("--write-lp takes FILE.lp or FILE.mps, not '{}'", options.program.string()));
  }
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

PlanOptions search_options(const PlanCommandOptions& options) {
  return {.alignment = options.alignment.value_or(1),
          .capacity = options.capacity,
          .time_limit_seconds = options.time_limit_seconds,
          .seed = static_cast<std::uint64_t>(options.seed),
          .threads = static_cast<int>(options.threads)};
}

PlanResult answer_for(const PlanCommandOptions& options, const Trace& trace) {
  try {
    return answer({trace, options.planner, search_options(options)});
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

std::string program_text(const PlanCommandOptions& options, const Trace& trace) try {
  return mip_text(trace, search_options(options), options.program.extension() == ".mps");
} catch (const std::invalid_argument& refusal) {
  throw UsageError(fmt::format("--write-lp: {}", refusal.what()));
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
  if (!options.program.empty()) {
    files.push_back({options.program, program_text(options, trace)});
  }
  std::optional<Plan> explained;
  if (!options.explanation.empty()) {
    explained = add_explanation(options, trace, plan.alignment, files);
  }
  for (const WrittenFile& file : files) write_and_say(file.path, file.text, console);
  if (explained && explained->planner != plan.planner) {
    console.say(fmt::format("the page explains {}, which needs {} bytes; this plan, by {}, {}",
                            explained->planner, explained->peak, plan.planner, plan.peak));
  }
}

CommandResult run(const PlanCommandOptions& options, Console& console) {
  check_options(options);
  const Trace trace = wanted_trace(options);
  const PlanResult answer = answer_for(options, trace);
  CommandResult result = told(answer, answer.text(), answer.feasible().value_or(false) ? 0 : 1);
  if (!answer.plan) {
    console.say(fmt::format("no plan fits: the lower bound is {} bytes, the capacity {} bytes",
                            answer.lower_bound, *answer.capacity));
    return result;
  }
  write_files(options, trace, *answer.plan, console);
  constexpr int kLabelColumns = 20, kRows = 16;
  const int columns = std::clamp(console.facts().width - kLabelColumns, 20, 100);
  result.drawing = "\n" + plan_map(trace, *answer.plan, columns, kRows, console.facts().colour);
  return result;
}

void add_search_options(OptionList& list, PlanCommandOptions& options) {
  list.add("--planner", choice(options.planner, names_of(all_planners()), "planner"),
           help_of("Packing algorithm.", all_planners()));
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
  list.add("--write-lp", path(options.program, "FILE.lp|FILE.mps"),
           "Write PGMO's mixed-integer program of the trace, as planner mip solves it, for another "
           "solver; W is the capacity, or the sum of the sizes");
  list.add(
      "--explain", path(options.explanation, "FILE.html"),
      "Write how a best-fit planner plans this trace, step by step: FILE.html to step through, "
      "and FILE.json. Explains best-fit unless --planner names one of its kind; the plan stays "
      "that of --planner");
}

struct CheckOptions {
  std::filesystem::path trace, plan;
  std::optional<std::uint64_t> alignment;
  bool ignore_offsets = false, verify = false;
  std::optional<double> time_limit_seconds;
};

// The result of repeating a planner's search for the bound that a plan's file claims.
enum class Verdict { kProved, kRefuted, kNotSettled };

// The result of checking a plan.
struct PlanCheck {
  std::string reason = {};                     // why the plan is invalid; empty: valid
  std::optional<std::uint64_t> peak = {};      // bytes, recomputed
  std::optional<Plan> plan = {};               // matched with the trace
  std::optional<PlanCertificate> claims = {};  // from the plan's file

  std::optional<Verdict> verdict = {};  // if the search was repeated

  // The proof of a bound: "checked" here (the peak is the lower bound, or the search was repeated),
  // "claimed" by the file, or "none".
  std::string proof() const {
    if (plan->peak == plan->lower_bound || verdict == Verdict::kProved) return "checked";
    return plan->proved_bound > plan->lower_bound ? "claimed" : "none";
  }
  // True if no plan has a lower peak, as far as this was checked.
  bool proved_optimal() const { return plan->proved_optimal && proof() == "checked"; }
};

const char* verdict_name(Verdict verdict) {
  if (verdict == Verdict::kProved) return "proved";
  return verdict == Verdict::kRefuted ? "refuted" : "not settled";
}

// A figure of valid plans only.
template <typename Figure>
auto if_valid(Figure figure) {
  return [figure](const PlanCheck& check) {
    using Found = std::decay_t<decltype(std::invoke(figure, check))>;
    return check.reason.empty() ? IfKnown<Found>{std::invoke(figure, check)} : IfKnown<Found>{};
  };
}

Rows<PlanCheck> rows(const PlanCheck*) {
  return {{"valid", "whether the plan is valid", [](auto& check) { return check.reason.empty(); }},
          {"peak", kBytes, "the highest byte in use", &PlanCheck::peak},
          {"reason", "why the plan is invalid", &PlanCheck::reason},
          {"lower_bound", kBytes, "no plan needs less; like the next five, of valid plans",
           if_valid(of(&PlanCheck::plan, &Plan::lower_bound))},
          {"gap", kShare, "(peak − lower bound) / lower bound",
           if_valid(of(&PlanCheck::plan, &Plan::gap))},
          {"proved_bound", kBytes, "the best bound that is proved or claimed",
           if_valid(of(&PlanCheck::plan, &Plan::proved_bound))},
          {"claimed_optimal", "the file claims that no plan needs less",
           if_valid(of(&PlanCheck::plan, &Plan::proved_optimal))},
          {"proved_optimal", "the peak is a bound that was checked here",
           if_valid(&PlanCheck::proved_optimal)},
          {"proof", "of the bound: checked, claimed or none", if_valid(&PlanCheck::proof)},
          {"verdict", "of --verify: proved, refuted or not settled",
           of(&PlanCheck::verdict, verdict_name)},
          {"certificate", "the file's claims by name", &PlanCheck::claims}};
}

constexpr int kNotSettledExit = 3;
constexpr std::string_view kVerifier = "exact";

// Takes lifetimes, sizes, gaps and fixed offsets from the trace, never from the plan's file.
PlanCheck check_plan(const CheckOptions& options, Trace& trace, const CsvPlan& csv) {
  // A trace without alignments takes the plan's: `plan --alignment` writes it there only.
  const std::uint64_t planned = common_alignment(csv.trace, 1);
  const Trace of_file = trace;
  if (options.alignment) trace.alignments.clear();
  PlanCheck check{.claims = csv.certificate};
  try {
    check.plan = match_plan(csv, trace, options.alignment.value_or(planned));
    const Validity verdict = validate(trace, *check.plan);
    check.reason = verdict.reason;
    if (verdict.valid || verdict.peak > 0) check.peak = verdict.peak;
    if (!verdict.valid || !csv.certificate) return check;
    // A certificate holds for the alignments of the files.
    check.reason =
        fault_of_certificate(*csv.certificate, of_file, match_plan(csv, of_file, planned));
  } catch (const PlanMismatch& mismatch) {
    check.reason = mismatch.what();
  } catch (const TraceError& error) {  // a sum above 2^63 − 1 with this alignment
    throw UsageError(error.what());
  }
  return check;
}

// Searches for a plan below the bound that the file claims.
Verdict repeat_search(const CheckOptions& options, const Trace& trace, const Plan& plan) {
  const PlanResult result = answer({.trace = trace,
                                    .planner = std::string(kVerifier),
                                    .options = {.alignment = plan.alignment,
                                                .capacity = plan.proved_bound - 1,
                                                .time_limit_seconds = options.time_limit_seconds}});
  const std::optional<bool> lower = result.feasible();
  if (!lower) return Verdict::kNotSettled;
  return *lower ? Verdict::kRefuted : Verdict::kProved;
}

void verify(const CheckOptions& options, const Trace& trace, PlanCheck& check) {
  if (!check.reason.empty() || check.proof() != "claimed") return;
  check.verdict = repeat_search(options, trace, *check.plan);
  if (check.verdict == Verdict::kRefuted) {
    check.reason = fmt::format("the certificate says that no plan is below {}, but there is one",
                               check.plan->proved_bound);
  }
}

std::string proof_sentence(const PlanCheck& check) {
  const Plan& plan = *check.plan;
  if (check.proof() == "none") return "nothing is proved beyond the lower bound";
  if (plan.peak == plan.lower_bound) return "optimal, proved: the peak is the lower bound";
  const std::string bound = fmt::format("no plan is below {}", format_bytes(plan.proved_bound));
  const std::string what = plan.proved_optimal ? "optimal" : bound;
  if (check.verdict == Verdict::kProved) return what + ", proved: the search was repeated";
  return fmt::format("claimed, not proved: {}; {}", what,
                     check.verdict ? "the search was repeated, but did not settle it"
                                   : "--verify repeats the search");
}

std::string certificate_text(const PlanCheck& check) {
  const PlanCertificate& claims = *check.claims;
  return fmt::format("certificate: planner {}, seed {}, {:.3g} s; {}\n", claims.planner,
                     claims.seed, claims.seconds,
                     check.proof() == "claimed" ? "its peak, lower bound and gap are correct"
                                                : "its figures are correct");
}

std::string text_of(const PlanCheck& check) {
  if (!check.reason.empty()) return fmt::format("invalid: {}\n", check.reason);
  const Plan& plan = *check.plan;
  std::string text = fmt::format("valid: {} blocks, peak {} ({} bytes)\n", plan.offsets.size(),
                                 format_bytes(plan.peak), plan.peak);
  text +=
      fmt::format("lower bound {} ({} bytes), gap {:.3g} %: {}\n", format_bytes(plan.lower_bound),
                  plan.lower_bound, 100 * plan.gap(), proof_sentence(check));
  return text + (check.claims ? certificate_text(check) : "no certificate\n");
}

int exit_code_of(const PlanCheck& check) {
  if (!check.reason.empty()) return 1;
  return check.verdict == Verdict::kNotSettled ? kNotSettledExit : 0;
}

CommandResult run(const CheckOptions& options) {
  require_one_input(options.trace, options.plan, "TRACE and PLAN");
  Trace trace = load_trace(options.trace);
  if (options.ignore_offsets) trace.fixed_offsets.clear();
  if (options.time_limit_seconds && !options.verify) {
    throw UsageError("--time-limit is for --verify");
  }
  PlanCheck check = check_plan(options, trace, load_plan(options.plan));
  if (options.verify) verify(options, trace, check);
  return told(check, text_of(check), exit_code_of(check));
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

CommandRun declare_check(OptionList& list) {
  const auto options = std::make_shared<CheckOptions>();
  list.add("TRACE", path(options->trace), "CSV of the trace; - reads standard input", kRequired);
  list.add("PLAN", path(options->plan), "CSV of the plan: the trace with an offset column",
           kRequired);
  list.add("--alignment", bytes(options->alignment),
           "All offsets must be multiples of it (default: each of its own in the files' column)");
  list.add("--ignore-offsets", flag(options->ignore_offsets),
           "Let the plan move blocks that TRACE gives an offset");
  list.add(
      "--verify", flag(options->verify),
      "Repeat the search behind a bound above the lower bound. Exits with 0 if it is proved, 1 "
      "if it is refuted, 3 if the search did not settle it");
  list.add("--time-limit", number(options->time_limit_seconds, 0, kDay),
           "Seconds for --verify (default: a fixed amount of work)");
  list.prints(keys<PlanCheck>);
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
