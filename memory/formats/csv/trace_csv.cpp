#include "memory/formats/csv/trace_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv_reader.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

std::string text_of(std::istream& in, std::string_view source) {
  std::ostringstream text;
  if (in.peek() != std::istream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !text) {  // which of them knows depends on where reading failed
    throw TraceError({.source = std::string(source), .problem = "the text cannot be read"});
  }
  return std::move(text).str();
}

// Peak and bounds of a plan that only has offsets and an alignment so far. `proved` is what a
// certificate says that no plan is below.
void complete(const Trace& trace, std::uint64_t proved, Plan& plan) {
  plan.peak = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::uint64_t bytes = align_checked(trace.blocks[i].bytes, plan.alignment);
    if (plan.offsets[i] > kMaxNumber - bytes) {
      throw TraceError({.source = "plan",
                        .field = "offset",
                        .problem = fmt::format("block {} of {} bytes at {} ends beyond {}",
                                               trace.id(i), bytes, plan.offsets[i], kMaxNumber)});
    }
    plan.peak = std::max(plan.peak, plan.offsets[i] + bytes);
  }
  plan.lower_bound = lower_bound_bytes(trace, plan.alignment);
  const bool possible = plan.lower_bound <= proved && proved <= plan.peak;
  plan.proved_bound = possible ? proved : plan.lower_bound;
  plan.proved_optimal = plan.peak == plan.proved_bound;
}

// The bound that a file claims was proved under the alignment at hand; 0 when it claims none.
std::uint64_t proved_bound_of(const CsvPlan& csv, std::uint64_t alignment) {
  return csv.certificate && csv.plan.alignment == alignment ? csv.certificate->proved_bound : 0;
}

std::string described(const TraceBlock& block) {
  return fmt::format("alive [{}, {}) with {} bytes", block.lower, block.upper, block.bytes);
}

}  // namespace

CsvTrace read_trace_csv(std::istream& in, std::string_view source) {
  const std::string text = text_of(in, source);
  TraceReader reader(text, source);
  reader.read_trace();
  return {std::move(reader.trace), reader.alignment};
}

CsvPlan read_plan_csv(std::istream& in, std::string_view source) {
  const std::string text = text_of(in, source);
  TraceReader reader(text, source);
  reader.read_plan();
  CsvPlan result{.trace = std::move(reader.trace), .certificate = std::move(reader.certificate)};
  result.plan.offsets = std::move(reader.offsets);
  result.plan.alignment = reader.alignment;
  result.plan.planner = "csv";
  if (result.certificate) {
    if (!result.certificate->planner.empty()) result.plan.planner = result.certificate->planner;
    result.plan.seed = result.certificate->seed;
    result.plan.seconds = result.certificate->seconds;
  }
  complete(result.trace, proved_bound_of(result, result.plan.alignment), result.plan);
  return result;
}

Plan match_plan(const CsvPlan& csv, const Trace& trace, std::uint64_t alignment) {
  std::unordered_map<std::string, std::size_t> index_of;
  index_of.reserve(csv.trace.size());
  for (std::size_t i = 0; i < csv.trace.size(); ++i) index_of.emplace(csv.trace.id(i), i);
  Plan plan = csv.plan;
  plan.alignment = alignment;
  plan.offsets.clear();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto found = index_of.find(trace.id(i));
    if (found == index_of.end()) {
      throw PlanMismatch(fmt::format("the plan has no offset for block {}", trace.id(i)));
    }
    const TraceBlock& planned = csv.trace.blocks[found->second];
    if (planned != trace.blocks[i]) {
      throw PlanMismatch(fmt::format("block {} is {} in the trace, but {} in the plan", trace.id(i),
                                     described(trace.blocks[i]), described(planned)));
    }
    plan.offsets.push_back(csv.plan.offsets[found->second]);
    index_of.erase(found);
  }
  for (std::size_t i = 0; i < csv.trace.size() && !index_of.empty(); ++i) {
    if (!index_of.contains(csv.trace.id(i))) continue;
    throw PlanMismatch(fmt::format("block {} of the plan is not in the trace", csv.trace.id(i)));
  }
  complete(trace, proved_bound_of(csv, alignment), plan);
  return plan;
}

std::uint64_t fixed_block_count(const Trace& trace) {
  return static_cast<std::uint64_t>(
      std::count_if(trace.fixed_offsets.begin(), trace.fixed_offsets.end(),
                    [](const auto& offset) { return offset.has_value(); }));
}

std::string fault_of_certificate(const PlanCertificate& certificate, const Trace& trace,
                                 const Plan& plan) {
  const auto claims = [](std::string_view what, auto got, auto expected) {
    return fmt::format("the certificate says {} {}, but it is {}", what, got, expected);
  };
  if (certificate.peak != plan.peak) return claims("peak", certificate.peak, plan.peak);
  if (certificate.lower_bound != plan.lower_bound) {
    return claims("lower_bound", certificate.lower_bound, plan.lower_bound);
  }
  if (std::abs(certificate.gap - plan.gap()) > 1e-6 * (1 + plan.gap())) {
    return claims("gap", certificate.gap, plan.gap());
  }
  if (certificate.proved_bound < plan.lower_bound || certificate.proved_bound > plan.peak) {
    return fmt::format("the certificate says proved_bound {}, expected one from {} to {}",
                       certificate.proved_bound, plan.lower_bound, plan.peak);
  }
  const bool optimal = certificate.proved_bound == plan.peak;
  if (certificate.proved_optimal != optimal) {
    return claims("proved_optimal", certificate.proved_optimal, optimal);
  }
  const std::uint64_t fixed = fixed_block_count(trace);
  // What is proved for a trace holds for one that fixes more, not for one that fixes less.
  if (certificate.proved_bound > plan.lower_bound && certificate.fixed_blocks > fixed) {
    return fmt::format("the certificate is of a trace with {} fixed offsets, but this one has {}",
                       certificate.fixed_blocks, fixed);
  }
  return {};
}

}  // namespace skyline
