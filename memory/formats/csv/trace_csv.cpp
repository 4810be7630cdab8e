#include "memory/formats/csv/trace_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <unordered_map>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv_reader.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMostNumber = std::numeric_limits<std::int64_t>::max();

// Computes peak and bounds of a plan that has only offsets and an alignment. `proved` is the bound
// that its certificate claims.
void complete(const Trace& trace, std::uint64_t proved, Plan& plan) {
  plan.peak = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::uint64_t bytes = planned_bytes(trace, i, plan.alignment);
    if (plan.offsets[i] > kMostNumber - bytes) {
      throw TraceError({.source = "plan",
                        .field = "offset",
                        .problem = fmt::format("block {} of {} bytes at {} ends beyond {}",
                                               trace.id(i), bytes, plan.offsets[i], kMostNumber)});
    }
    plan.peak = std::max(plan.peak, plan.offsets[i] + bytes);
  }
  plan.lower_bound = lower_bound_bytes(trace, plan.alignment);
  const bool possible = plan.lower_bound <= proved && proved <= plan.peak;
  plan.proved_bound = possible ? proved : plan.lower_bound;
  plan.proved_optimal = plan.peak == plan.proved_bound;
}

std::string described(const TraceBlock& block) {
  return fmt::format("alive [{}, {}) with {} bytes", block.lower, block.upper, block.bytes);
}

constexpr std::string_view kCertificateHeader =
    ",planner,peak,lower_bound,proved_bound,gap,proved_optimal,fixed_blocks,seed,seconds";
constexpr std::string_view kNoCertificate = ",,,,,,,,,";

class CsvWriter {
 public:
  // Writes the trace alone if there is no plan.
  CsvWriter(Sink out, const Trace& trace, std::uint64_t alignment, const Plan* plan)
      : out_(std::move(out)), trace_(trace), alignment_(alignment), plan_(plan) {}

  void write() {
    const bool has_offsets = plan_ != nullptr || trace_.has_fixed_offsets();
    const bool has_alignments = alignment_ > 1 || !trace_.alignments.empty();
    out_.print("id,lower,upper,size{}{}{}{}{}\n", has_alignments ? ",alignment" : "",
               trace_.gaps.empty() ? "" : ",gaps",
               trace_.tags.empty() ? "" : ",op,layer,phase,category", has_offsets ? ",offset" : "",
               plan_ != nullptr ? kCertificateHeader : "");
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const TraceBlock& block = trace_.blocks[i];
      out_.print("{},{},{},{}", csv_field(trace_.id(i)), block.lower, block.upper,
                 planned_bytes(trace_, i, alignment_));
      if (has_alignments) out_.print(",{}", trace_.alignment(i, alignment_));
      if (!trace_.gaps.empty()) write_gaps(i);
      if (!trace_.tags.empty()) write_tag(trace_.tags[i]);
      if (has_offsets) write_offset(i);
      if (plan_ != nullptr) write_certificate(i);
      out_.append("\n");
    }
    out_.finish();
  }

 private:
  // Gaps are ordered by block, so one pass over them serves all blocks.
  void write_gaps(std::size_t block) {
    out_.append(",");
    for (bool first = true; next_gap_ < trace_.gaps.size(); first = false, ++next_gap_) {
      const TraceGap& gap = trace_.gaps[next_gap_];
      if (gap.block != block) return;
      out_.print("{}{}-{}", first ? "" : " ", gap.lower, gap.upper);
    }
  }

  void write_tag(const BlockTag& tag) {
    out_.print(",{},{},{},{}", csv_field(tag.op), csv_field(tag.layer), phase_name(tag.phase),
               category_name(tag.category));
  }

  void write_offset(std::size_t block) {
    if (plan_ != nullptr) return out_.print(",{}", plan_->offsets[block]);
    if (const auto fixed = trace_.fixed_offset(block)) return out_.print(",{}", *fixed);
    out_.print(",-1");
  }

  void write_certificate(std::size_t block) {
    if (block > 0) return out_.append(kNoCertificate);
    out_.print(",{},{},{},{},{},{},{},{},{}", csv_field(plan_->planner), plan_->peak,
               plan_->lower_bound, std::max(plan_->proved_bound, plan_->lower_bound), plan_->gap(),
               plan_->proved_optimal, fixed_block_count(trace_), plan_->seed, plan_->seconds);
  }

  BufferedSink out_;
  const Trace& trace_;
  std::uint64_t alignment_;
  const Plan* plan_;
  std::size_t next_gap_ = 0;
};

}  // namespace

Trace read_trace_csv(std::istream& in, std::string_view source, std::string head) {
  TraceReader reader(in, source, std::move(head));
  reader.read_trace();
  return std::move(reader.trace);
}

CsvPlan read_plan_csv(std::istream& in, std::string_view source) {
  TraceReader reader(in, source);
  reader.read_plan();
  CsvPlan result{.trace = std::move(reader.trace), .certificate = std::move(reader.certificate)};
  result.plan.offsets = std::move(reader.offsets);
  result.plan.alignment = 1;
  result.plan.planner = "csv";
  if (result.certificate) {
    if (!result.certificate->planner.empty()) result.plan.planner = result.certificate->planner;
    result.plan.seed = result.certificate->seed;
    result.plan.seconds = result.certificate->seconds;
  }
  complete(result.trace, result.certificate ? result.certificate->proved_bound : 0, result.plan);
  return result;
}

Plan match_plan(const CsvPlan& csv, const Trace& trace, std::uint64_t alignment) {
  std::unordered_map<std::string, std::size_t> index_of;
  index_of.reserve(csv.trace.size());
  for (std::size_t i = 0; i < csv.trace.size(); ++i) index_of.emplace(csv.trace.id(i), i);
  Plan plan = csv.plan;
  plan.alignment = alignment;
  plan.offsets.clear();
  bool is_claimed = csv.certificate.has_value();  // a bound holds for the alignments of its file
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto found = index_of.find(trace.id(i));
    if (found == index_of.end()) {
      throw PlanMismatch(fmt::format("the plan has no offset for block {}", trace.id(i)));
    }
    const TraceBlock& planned = csv.trace.blocks[found->second];
    const TraceBlock& block = trace.blocks[i];
    const bool same_bytes =
        planned.bytes == block.bytes || planned.bytes == planned_bytes(trace, i, alignment);
    if (planned.lower != block.lower || planned.upper != block.upper || !same_bytes) {
      throw PlanMismatch(fmt::format("block {} is {} in the trace, but {} in the plan", trace.id(i),
                                     described(block), described(planned)));
    }
    is_claimed &= csv.trace.alignment(found->second, 1) == trace.alignment(i, alignment);
    plan.offsets.push_back(csv.plan.offsets[found->second]);
    index_of.erase(found);
  }
  for (std::size_t i = 0; i < csv.trace.size() && !index_of.empty(); ++i) {
    if (!index_of.contains(csv.trace.id(i))) continue;
    throw PlanMismatch(fmt::format("block {} of the plan is not in the trace", csv.trace.id(i)));
  }
  complete(trace, is_claimed ? csv.certificate->proved_bound : 0, plan);
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
  // A bound proved for a trace holds for one that fixes more offsets, not for one that fixes fewer.
  if (certificate.proved_bound > plan.lower_bound && certificate.fixed_blocks > fixed) {
    return fmt::format("the certificate is for a trace with {} fixed offsets, but this one has {}",
                       certificate.fixed_blocks, fixed);
  }
  return {};
}

void write_trace_csv(const Sink& out, const Trace& trace, std::uint64_t alignment) {
  CsvWriter(out, trace, alignment, nullptr).write();
}

void write_trace_csv(std::ostream& out, const Trace& trace, std::uint64_t alignment) {
  write_trace_csv(stream_sink(out), trace, alignment);
}

void write_plan_csv(std::ostream& out, const Trace& trace, const Plan& plan) {
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(
        fmt::format("the plan has {} offsets for {} blocks", plan.offsets.size(), trace.size()));
  }
  CsvWriter(stream_sink(out), trace, plan.alignment, &plan).write();
}

}  // namespace skyline
