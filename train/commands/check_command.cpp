#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "memory/errors.h"
#include "memory/plan.h"
#include "memory/validator.h"
#include "train/cli/byte_sizes.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/lab/trace_files.h"

namespace skyline {
namespace {

struct CheckOptions {
  std::filesystem::path trace, plan;
  std::optional<std::uint64_t> alignment;
  bool ignore_offsets = false;
};

// Takes lifetimes, sizes, gaps and fixed offsets from the trace, never from the plan's file.
PlanCheck check_plan(const CheckOptions& options, const CsvTrace& trace, const CsvPlan& csv) {
  // Either file may give an alignment; the stricter one counts.
  const std::uint64_t alignment =
      options.alignment.value_or(std::max(trace.alignment, csv.plan.alignment));
  PlanCheck check{.claims = csv.certificate};
  try {
    check.plan = match_plan(csv, trace.trace, alignment);
    const Validity verdict = validate(trace.trace, *check.plan);
    check.reason = verdict.reason;
    if (verdict.valid || verdict.peak > 0) check.peak = verdict.peak;
    if (!verdict.valid || !csv.certificate) return check;
    // A certificate holds for the alignment of its own file.
    check.reason = fault_of_certificate(*csv.certificate, trace.trace,
                                        match_plan(csv, trace.trace, csv.plan.alignment));
  } catch (const PlanMismatch& mismatch) {
    check.reason = mismatch.what();
  } catch (const TraceError& error) {  // a sum above 2^63 − 1 with this alignment
    throw UsageError(error.what());
  }
  return check;
}

std::string proof_sentence(const Plan& plan, std::string_view proof) {
  if (proof == "checked") return "optimal, proved: the peak is the lower bound";
  if (proof == "none") return "nothing is proved beyond the lower bound";
  return fmt::format("{} by the planner's search, which was not repeated here",
                     plan.proved_optimal ? "claimed to be optimal"
                                         : fmt::format("no plan is claimed to be below {}",
                                                       format_bytes(plan.proved_bound)));
}

std::string certificate_text(const PlanCertificate& claims) {
  return fmt::format("certificate: planner {}, seed {}, {:.3g} s; its figures are correct\n",
                     claims.planner, claims.seed, claims.seconds);
}

std::string text_of(const PlanCheck& check) {
  if (!check.reason.empty()) return fmt::format("invalid: {}\n", check.reason);
  const Plan& plan = *check.plan;
  std::string text = fmt::format("valid: {} blocks, peak {} ({} bytes)\n", plan.offsets.size(),
                                 format_bytes(plan.peak), plan.peak);
  text +=
      fmt::format("lower bound {} ({} bytes), gap {:.3g} %: {}\n", format_bytes(plan.lower_bound),
                  plan.lower_bound, 100 * plan.gap(), proof_sentence(plan, check.proof()));
  return text + (check.claims ? certificate_text(*check.claims) : "no certificate\n");
}

CommandResult run(const CheckOptions& options) {
  if (options.trace == "-" && options.plan == "-") {
    throw UsageError("only one of TRACE and PLAN can be standard input");
  }
  CsvTrace trace = load_trace(options.trace);
  if (options.ignore_offsets) trace.trace.fixed_offsets.clear();
  const PlanCheck check = check_plan(options, trace, load_plan(options.plan));
  return {
      .json = json_of(check), .text = text_of(check), .exit_code = check.reason.empty() ? 0 : 1};
}

}  // namespace

CommandRun declare_check(OptionList& list) {
  const auto options = std::make_shared<CheckOptions>();
  list.add("TRACE", path(options->trace), "CSV of the trace; - reads standard input", kRequired);
  list.add("PLAN", path(options->plan), "CSV of the plan: the trace with an offset column",
           kRequired);
  list.add("--alignment", bytes(options->alignment),
           "Offsets must be multiples of it (default: the files' column, else 1 B)");
  list.add("--ignore-offsets", flag(options->ignore_offsets),
           "Let the plan move blocks that TRACE gives an offset");
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
