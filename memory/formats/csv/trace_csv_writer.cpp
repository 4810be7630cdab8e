#include <algorithm>
#include <iterator>
#include <ostream>

#include "memory/errors.h"
#include "memory/format_to.h"
#include "memory/formats/csv/csv.h"
#include "memory/formats/csv/trace_csv.h"

namespace skyline {
namespace {

constexpr std::string_view kCertificateHeader =
    ",planner,peak,lower_bound,proved_bound,gap,proved_optimal,fixed_blocks,seed,seconds";
constexpr std::string_view kNoCertificate = ",,,,,,,,,";

class CsvWriter {
 public:
  // Without a plan, of the trace alone.
  CsvWriter(std::ostream& out, const Trace& trace, std::uint64_t alignment, const Plan* plan)
      : out_(out), trace_(trace), alignment_(alignment), plan_(plan) {}

  void write() {
    const bool has_offsets = plan_ != nullptr || trace_.has_fixed_offsets();
    append("id,lower,upper,size{}{}{}{}{}\n", alignment_ > 1 ? ",alignment" : "",
           trace_.gaps.empty() ? "" : ",gaps",
           trace_.tags.empty() ? "" : ",op,layer,phase,category", has_offsets ? ",offset" : "",
           plan_ != nullptr ? kCertificateHeader : "");
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const TraceBlock& block = trace_.blocks[i];
      append("{},{},{},{}", csv_field(trace_.id(i)), block.lower, block.upper, block.bytes);
      if (alignment_ > 1) append(",{}", alignment_);
      if (!trace_.gaps.empty()) write_gaps(i);
      if (!trace_.tags.empty()) write_tag(trace_.tags[i]);
      if (has_offsets) write_offset(i);
      if (plan_ != nullptr) write_certificate(i);
      append("\n");
      if (buffer_.size() >= kFlushBytes) flush();
    }
    flush();
  }

 private:
  static constexpr std::size_t kFlushBytes = 1 << 16;

  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
  }

  // Blocks come in order, and so do the gaps.
  void write_gaps(std::size_t block) {
    append(",");
    for (bool first = true; next_gap_ < trace_.gaps.size(); first = false, ++next_gap_) {
      const TraceGap& gap = trace_.gaps[next_gap_];
      if (gap.block != block) return;
      append("{}{}-{}", first ? "" : " ", gap.lower, gap.upper);
    }
  }

  void write_tag(const BlockTag& tag) {
    append(",{},{},{},{}", csv_field(tag.op), csv_field(tag.layer), phase_name(tag.phase),
           category_name(tag.category));
  }

  void write_offset(std::size_t block) {
    if (plan_ != nullptr) return append(",{}", plan_->offsets[block]);
    if (const auto fixed = trace_.fixed_offset(block)) return append(",{}", *fixed);
    append(",-1");
  }

  void write_certificate(std::size_t block) {
    if (block > 0) return append("{}", kNoCertificate);
    append(",{},{},{},{},{},{},{},{},{}", csv_field(plan_->planner), plan_->peak,
           plan_->lower_bound, std::max(plan_->proved_bound, plan_->lower_bound), plan_->gap(),
           plan_->proved_optimal, fixed_block_count(trace_), plan_->seed, plan_->seconds);
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  const Trace& trace_;
  std::uint64_t alignment_;
  const Plan* plan_;
  std::size_t next_gap_ = 0;
  fmt::memory_buffer buffer_;
};

}  // namespace

void write_trace_csv(std::ostream& out, const Trace& trace, std::uint64_t alignment) {
  CsvWriter(out, trace, alignment, nullptr).write();
}

void write_plan_csv(std::ostream& out, const Trace& trace, const Plan& plan) {
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(
        fmt::format("the plan has {} offsets for {} blocks", plan.offsets.size(), trace.size()));
  }
  CsvWriter(out, trace, plan.alignment, &plan).write();
}

}  // namespace skyline
