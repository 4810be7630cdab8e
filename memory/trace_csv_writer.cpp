#include <fmt/format.h>

#include <iterator>
#include <ostream>

#include "memory/csv.h"
#include "memory/errors.h"
#include "memory/trace_csv.h"

namespace skyline {
namespace {

class CsvWriter {
 public:
  CsvWriter(std::ostream& out, const Trace& trace, std::uint64_t alignment,
            const std::vector<std::uint64_t>* offsets)
      : out_(out), trace_(trace), alignment_(alignment), offsets_(offsets) {}

  void write() {
    append("id,lower,upper,size{}{}{}\n", alignment_ > 1 ? ",alignment" : "",
           trace_.tags.empty() ? "" : ",op,layer,phase,category", offsets_ ? ",offset" : "");
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const TraceBlock& block = trace_.blocks[i];
      append("{},{},{},{}", csv_field(trace_.id(i)), block.lower, block.upper, block.bytes);
      if (alignment_ > 1) append(",{}", alignment_);
      if (!trace_.tags.empty()) write_tag(trace_.tags[i]);
      if (offsets_ != nullptr) append(",{}", (*offsets_)[i]);
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

  void write_tag(const BlockTag& tag) {
    append(",{},{},{},{}", csv_field(tag.op), csv_field(tag.layer), phase_name(tag.phase),
           category_name(tag.category));
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  const Trace& trace_;
  std::uint64_t alignment_;
  const std::vector<std::uint64_t>* offsets_;
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
  CsvWriter(out, trace, plan.alignment, &plan.offsets).write();
}

}  // namespace skyline
