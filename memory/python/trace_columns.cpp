#include "memory/python/trace_columns.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/errors.h"

namespace skyline {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse(std::size_t row, std::string_view column, std::string problem) {
  throw TraceError({.source = fmt::format("row {}", row),
                    .field = std::string(column),
                    .problem = std::move(problem)});
}

void require_not_negative(std::int64_t value, std::size_t row, std::string_view name) {
  if (value < 0) refuse(row, name, fmt::format("got {}, expected no negative number", value));
}

std::span<const std::int64_t> column(const py::buffer_info& info) {
  return {static_cast<const std::int64_t*>(info.ptr), static_cast<std::size_t>(info.size)};
}

template <class Value, class Of>
py::bytes bytes_of(const std::vector<Value>& rows, Of of) {
  std::vector<std::int64_t> values;
  values.reserve(rows.size());
  for (const Value& row : rows) values.push_back(static_cast<std::int64_t>(of(row)));
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)};
}

}  // namespace

Trace trace_from(const py::buffer& lower, const py::buffer& upper, const py::buffer& size,
                 const py::buffer& offset, const py::buffer& gaps, const py::buffer& alignment) {
  const py::buffer_info infos[] = {lower.request(),  upper.request(), size.request(),
                                   offset.request(), gaps.request(),  alignment.request()};
  const auto lowers = column(infos[0]), uppers = column(infos[1]), sizes = column(infos[2]),
             offsets = column(infos[3]), gap_rows = column(infos[4]), alignments = column(infos[5]);
  Trace trace;
  trace.blocks.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require_not_negative(lowers[i], i, "lower");
    require_not_negative(sizes[i], i, "size");
    if (uppers[i] <= lowers[i]) {
      refuse(i, "upper", fmt::format("got {}, expected more than lower, {}", uppers[i], lowers[i]));
    }
    trace.blocks.push_back({lowers[i], uppers[i], static_cast<std::uint64_t>(sizes[i])});
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    trace.fixed_offsets.emplace_back();
    if (offsets[i] == -1) continue;
    require_not_negative(offsets[i], i, "offset");
    trace.fixed_offsets.back() = static_cast<std::uint64_t>(offsets[i]);
  }
  for (std::size_t i = 0; i < alignments.size(); ++i) {
    if (alignments[i] < 1) {
      refuse(i, "alignment", fmt::format("got {}, expected at least 1", alignments[i]));
    }
    trace.alignments.push_back(static_cast<std::uint64_t>(alignments[i]));
  }
  for (std::size_t i = 0; i + 2 < gap_rows.size(); i += 3) {
    trace.gaps.push_back({static_cast<std::size_t>(gap_rows[i]), gap_rows[i + 1], gap_rows[i + 2]});
  }
  return trace;
}

py::dict columns_of(const Trace& trace) {
  py::dict columns;
  columns["lower"] = bytes_of(trace.blocks, [](const TraceBlock& block) { return block.lower; });
  columns["upper"] = bytes_of(trace.blocks, [](const TraceBlock& block) { return block.upper; });
  columns["size"] = bytes_of(trace.blocks, [](const TraceBlock& block) { return block.bytes; });
  return columns;
}

py::dict answer_of(const Plan& plan) {
  py::dict answer;
  answer["offsets"] = bytes_of(plan.offsets, [](std::uint64_t offset) { return offset; });
  answer["peak"] = plan.peak;
  answer["lower_bound"] = plan.lower_bound;
  answer["proved_bound"] = plan.proved_bound;
  answer["proved_optimal"] = plan.proved_optimal;
  answer["planner"] = plan.planner;
  answer["seconds"] = plan.seconds;
  answer["out_of_time"] = plan.out_of_time;
  return answer;
}

}  // namespace skyline
