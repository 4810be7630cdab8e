#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "memory/errors.h"
#include "memory/plan.h"
#include "train/commands/commands.h"
#include "train/options.h"
#include "train/sizes.h"
#include "train/trace_files.h"
#include "train/usage_error.h"

namespace skyline {
namespace {

struct CheckOptions {
  std::filesystem::path trace, plan;
  std::optional<std::uint64_t> alignment;
};

CommandResult run(const CheckOptions& options) {
  if (options.trace == "-" && options.plan == "-") {
    throw UsageError("only one of TRACE and PLAN can be standard input");
  }
  const CsvTrace trace = load_trace(options.trace);
  const CsvPlan csv = load_plan(options.plan);
  // Either file may say how offsets are aligned; the stricter holds.
  const std::uint64_t alignment =
      options.alignment.value_or(std::max(trace.alignment, csv.plan.alignment));
  CommandResult result;
  result.json = {{"valid", false}, {"peak", nullptr}, {"reason", ""}};
  try {
    const Validity verdict = validate(trace.trace, match_plan(csv, trace.trace, alignment));
    result.json = {{"valid", verdict.valid}, {"peak", verdict.peak}, {"reason", verdict.reason}};
    if (verdict.valid) {
      result.text = fmt::format("valid: {} blocks, peak {} ({} bytes)\n", trace.trace.size(),
                                format_bytes(verdict.peak), verdict.peak);
      return result;
    }
  } catch (const PlanMismatch& mismatch) {
    result.json["reason"] = mismatch.what();
  }
  result.text = fmt::format("invalid: {}\n", result.json["reason"].get<std::string>());
  result.exit_code = 1;
  return result;
}

}  // namespace

CommandRun declare_check(CLI::App& app) {
  const auto options = std::make_shared<CheckOptions>();
  app.add_option("TRACE", options->trace, "CSV of the trace; - reads standard input")->required();
  app.add_option("PLAN", options->plan, "CSV of the plan: the trace with an offset column")
      ->required();
  add_bytes(app, "--alignment", options->alignment,
            "Offsets must be multiples of it; unset: the files' column, else 1 B");
  return [options](Console&) { return run(*options); };
}

}  // namespace skyline
