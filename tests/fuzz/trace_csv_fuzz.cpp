// Any bytes either parse as a trace or a plan, which written out and read back is the same, or end
// in a TraceError: never in another exception or a crash.
#include <cstdlib>
#include <sstream>

#include "memory/errors.h"
#include "memory/trace_csv.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_trace(const std::string& text) {
  std::istringstream in(text);
  const skyline::CsvTrace csv = skyline::read_trace_csv(in, "fuzz");
  std::stringstream copy;
  skyline::write_trace_csv(copy, csv.trace, csv.alignment);
  const skyline::CsvTrace back = skyline::read_trace_csv(copy, "copy");
  require(back.trace.blocks == csv.trace.blocks && back.trace.tags == csv.trace.tags);
  if (csv.trace.size() > 0) require(back.alignment == csv.alignment);
  for (std::size_t i = 0; i < csv.trace.size(); ++i) require(back.trace.id(i) == csv.trace.id(i));
}

void check_plan(const std::string& text) {
  std::istringstream in(text);
  const skyline::CsvPlan csv = skyline::read_plan_csv(in, "fuzz");
  const skyline::Plan plan = skyline::match_plan(csv, csv.trace, csv.plan.alignment);
  require(plan.offsets == csv.plan.offsets && plan.peak == csv.plan.peak);
  // Whatever the verdict, it comes with a reason.
  const skyline::Validity verdict = skyline::validate(csv.trace, plan);
  require(verdict.valid == verdict.reason.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto check : {check_trace, check_plan}) {
    try {
      check(text);
    } catch (const skyline::TraceError&) {
    }
  }
  return 0;
}
