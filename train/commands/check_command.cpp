#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "memory/errors.h"
#include "memory/plan.h"
#include "memory/validator.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/option_types.h"
#include "train/cli/usage_error.h"
#include "train/commands/commands.h"
#include "train/lab/trace_files.h"

namespace skyline {
namespace {

struct CheckOptions {
  std::filesystem::path trace, plan;
  std::optional<std::uint64_t> alignment;
  bool ignore_offsets = false;
};

// What is known of a plan that was checked.
struct Check {
  std::string reason = {};                     // empty: valid
  std::optional<std::uint64_t> peak = {};      // bytes, recomputed
  std::optional<Plan> plan = {};               // matched with the trace
  std::optional<PlanCertificate> claims = {};  // of the plan's file
};

// The trace is what counts: its lifetimes, sizes, gaps and fixed offsets.
Check checked(const CheckOptions& options, const CsvTrace& trace, const CsvPlan& csv) {
  // Either file may say how offsets are aligned; the stricter holds.
  const std::uint64_t alignment =
      options.alignment.value_or(std::max(trace.alignment, csv.plan.alignment));
  Check check{.claims = csv.certificate};
  try {
    check.plan = match_plan(csv, trace.trace, alignment);
    const Validity verdict = validate(trace.trace, *check.plan);
    check.reason = verdict.reason;
    if (verdict.valid || verdict.peak > 0) check.peak = verdict.peak;
    if (!verdict.valid || !csv.certificate) return check;
    // A certificate speaks of the alignment of its own file.
    check.reason = fault_of_certificate(*csv.certificate, trace.trace,
                                        match_plan(csv, trace.trace, csv.plan.alignment));
  } catch (const PlanMismatch& mismatch) {
    check.reason = mismatch.what();
  } catch (const TraceError& error) {  // sums or ends beyond 2^63 − 1 under this alignment
    throw UsageError(error.what());
  }
  return check;
}

// How far the plan is known to be the best one: by a proof made here, by one that the file claims.
std::string proof_of(const Check& check) {
  const Plan& plan = *check.plan;
  if (plan.peak == plan.lower_bound) return "checked";
  return plan.proved_bound > plan.lower_bound ? "claimed" : "none";
}

std::string proof_sentence(const Plan& plan, std::string_view proof) {
  if (proof == "checked") return "optimal, proved: the peak is the lower bound";
  if (proof == "none") return "nothing is proved beyond the lower bound";
  return fmt::format("{} by a search of the planner, which was not repeated here",
                     plan.proved_optimal ? "claimed to be optimal"
                                         : fmt::format("no plan is claimed to be below {}",
                                                       format_bytes(plan.proved_bound)));
}

std::string certificate_text(const PlanCertificate& claims) {
  return fmt::format("certificate: planner {}, seed {}, {:.3g} s; its figures are true\n",
                     claims.planner, claims.seed, claims.seconds);
}

std::string text_of(const Check& check) {
  if (!check.reason.empty()) return fmt::format("invalid: {}\n", check.reason);
  const Plan& plan = *check.plan;
  std::string text = fmt::format("valid: {} blocks, peak {} ({} bytes)\n", plan.offsets.size(),
                                 format_bytes(plan.peak), plan.peak);
  text +=
      fmt::format("lower bound {} ({} bytes), gap {:.3g} %: {}\n", format_bytes(plan.lower_bound),
                  plan.lower_bound, 100 * plan.gap(), proof_sentence(plan, proof_of(check)));
  return text + (check.claims ? certificate_text(*check.claims) : "no certificate\n");
}

nlohmann::ordered_json json_of(const Check& check) {
  using Json = nlohmann::ordered_json;
  Json json = {{"valid", check.reason.empty()},
               {"peak", check.peak ? Json(*check.peak) : Json(nullptr)},
               {"reason", check.reason}};
  if (check.reason.empty()) {
    const Plan& plan = *check.plan;
    json["lower_bound"] = plan.lower_bound;
    json["gap"] = plan.gap();
    json["proved_bound"] = plan.proved_bound;
    json["proved_optimal"] = plan.proved_optimal;
    json["proof"] = proof_of(check);
  }
  json["certificate"] = nullptr;
  if (check.claims) {
    const PlanCertificate& claims = *check.claims;
    json["certificate"] = {{"planner", claims.planner},
                           {"peak", claims.peak},
                           {"lower_bound", claims.lower_bound},
                           {"proved_bound", claims.proved_bound},
                           {"gap", claims.gap},
                           {"proved_optimal", claims.proved_optimal},
                           {"fixed_blocks", claims.fixed_blocks},
                           {"seed", claims.seed},
                           {"seconds", claims.seconds}};
  }
  return json;
}

CommandResult run(const CheckOptions& options) {
  if (options.trace == "-" && options.plan == "-") {
    throw UsageError("only one of TRACE and PLAN can be standard input");
  }
  CsvTrace trace = load_trace(options.trace);
  if (options.ignore_offsets) trace.trace.fixed_offsets.clear();
  const Check check = checked(options, trace, load_plan(options.plan));
  return {
      .json = json_of(check), .text = text_of(check), .exit_code = check.reason.empty() ? 0 : 1};
}

}  // namespace

CommandRun declare_check(CLI::App& app) {
  const auto options = std::make_shared<CheckOptions>();
  require(add_path(app, "TRACE", options->trace, "CSV of the trace; - reads standard input"));
  require(add_path(app, "PLAN", options->plan, "CSV of the plan: the trace with an offset column"));
  add_bytes(app, "--alignment", options->alignment,
            "Offsets must be multiples of it; unset: the files' column, else 1 B");
  add_flag(app, "--ignore-offsets", options->ignore_offsets,
           "Where TRACE has an offset column, let the plan move its blocks");
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
