// Any bytes are either a trace or a plan, which is equal after writing and reading it back, or end
// in a TraceError; never in another exception or a crash.
#include <cstdlib>
#include <sstream>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/validator.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void require_same(const skyline::Trace& back, const skyline::Trace& trace) {
  require(back.blocks == trace.blocks && back.tags == trace.tags && back.gaps == trace.gaps);
  require(back.alignments == trace.alignments);
  for (std::size_t i = 0; i < trace.size(); ++i) require(back.id(i) == trace.id(i));
}

void check_trace(const std::string& text) {
  std::istringstream in(text);
  const skyline::Trace trace = skyline::read_trace_csv(in, "fuzz");
  skyline::require_sound(trace);
  std::stringstream copy;
  skyline::write_trace_csv(copy, trace);
  const skyline::Trace back = skyline::read_trace_csv(copy, "copy");
  require_same(back, trace);
  require(back.fixed_offsets == trace.fixed_offsets);
}

void check_plan(const std::string& text) {
  std::istringstream in(text);
  const skyline::CsvPlan csv = skyline::read_plan_csv(in, "fuzz");
  const skyline::Plan plan = skyline::match_plan(csv, csv.trace, csv.plan.alignment);
  require(plan.offsets == csv.plan.offsets && plan.peak == csv.plan.peak);
  // Every invalid verdict has a reason.
  const skyline::Validity verdict = skyline::validate(csv.trace, plan);
  require(verdict.valid == verdict.reason.empty());

  std::stringstream copy;
  skyline::write_plan_csv(copy, csv.trace, csv.plan);
  const skyline::CsvPlan back = skyline::read_plan_csv(copy, "copy");
  require_same(back.trace, csv.trace);
  require(back.plan.offsets == csv.plan.offsets && back.plan.seconds == csv.plan.seconds);
  require(back.plan.planner == csv.plan.planner || csv.trace.size() == 0);
  require(back.certificate.has_value() == (csv.trace.size() > 0));
  if (back.certificate) {
    require(skyline::fault_of_certificate(*back.certificate, csv.trace, csv.plan).empty());
  }
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
