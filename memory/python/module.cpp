// The extension module skyline._memory. The package beside it (skyline/) prepares its arguments and
// documents what users call.
#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <span>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "memory/errors.h"
#include "memory/formats/order_file.h"
#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/python/graph_budget.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_events.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"

namespace skyline {
namespace {

namespace py = pybind11;

// Columns go to Python and come from it as contiguous 64-bit integers: arrays in, bytes out, which
// NumPy reads in place. So the module works with every version of NumPy.

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

// Makes a trace of arrays of equal length, one row a block. `offset` has those to be kept (-1:
// free), or no rows; `gaps` has block, lower and upper of one gap after the other; `alignment` has
// each block's, or no rows. Throws TraceError, naming the row, for an empty lifetime and for a
// number that is too small.
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

// Returns the columns lower, upper and size of a trace.
py::dict columns_of(const Trace& trace) {
  py::dict columns;
  columns["lower"] = bytes_of(trace.blocks, [](const TraceBlock& block) { return block.lower; });
  columns["upper"] = bytes_of(trace.blocks, [](const TraceBlock& block) { return block.upper; });
  columns["size"] = bytes_of(trace.blocks, [](const TraceBlock& block) { return block.bytes; });
  return columns;
}

// Returns the column of offsets, and the plan's figures by name.
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

// Returns work(stop), which must own all that it uses and know nothing of Python. Other threads of
// Python run meanwhile. Ctrl-C asks the work to stop and raises KeyboardInterrupt when it has, or
// after a second: a solver that takes no such order then goes on in a thread that nobody waits for.
// Work that ends soon runs in this thread: waking a thread takes milliseconds on a busy machine.
// Ctrl-C then waits for its end.
template <class Work>
auto interruptible(Work work, bool ends_soon = false) {
  using namespace std::chrono_literals;
  if (ends_soon) {
    const py::gil_scoped_release others_run;
    return work(std::stop_source(std::nostopstate));
  }
  std::stop_source stop;
  std::packaged_task<decltype(work(stop))()> task(
      [work = std::move(work), stop]() mutable { return work(stop); });
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  const auto ended_within = [&](std::chrono::milliseconds time) {
    const py::gil_scoped_release others_run;
    return result.wait_for(time) == std::future_status::ready;
  };
  while (!ended_within(50ms)) {
    if (PyErr_CheckSignals() == 0) continue;
    stop.request_stop();
    ended_within(1s);
    throw py::error_already_set();
  }
  return result.get();
}

GraphFile graph_from(const std::string& text) {
  std::istringstream stream(text);
  return read_graph(stream, "graph");
}

// The default planner's fixed amount of work takes a second or two at most for so few blocks.
bool ends_soon(const Trace& trace, const std::string& planner, const PlanOptions& options) {
  constexpr std::size_t kFewBlocks = 500;
  return trace.size() <= kFewBlocks && planner == kDefaultPlanner && !options.time_limit_seconds;
}

py::dict plan_trace(const Trace& trace, const std::string& planner, const PlanOptions& options) {
  return answer_of(interruptible(
      [trace, planner, options = options](const std::stop_source& stop) mutable {
        options.stop = &stop;
        return plan(trace, planner, options, all_planners());
      },
      ends_soon(trace, planner, options)));
}

py::dict check_offsets(const Trace& trace, std::vector<std::uint64_t> offsets,
                       std::uint64_t alignment) {
  Plan claimed{.offsets = std::move(offsets),
               .lower_bound = lower_bound_bytes(trace, alignment),
               .alignment = alignment};
  for (std::size_t i = 0; i < std::min(trace.size(), claimed.offsets.size()); ++i) {
    const std::uint64_t end = claimed.offsets[i] + planned_bytes(trace, i, alignment);
    claimed.peak = std::max(claimed.peak, end);
  }
  claimed.proved_bound = claimed.lower_bound;
  claimed.proved_optimal = claimed.peak == claimed.lower_bound;
  const Validity verdict = validate(trace, claimed);
  py::dict answer;
  answer["valid"] = verdict.valid;
  answer["reason"] = verdict.reason;
  answer["peak"] = verdict.valid ? verdict.peak : claimed.peak;
  answer["lower_bound"] = claimed.lower_bound;
  return answer;
}

struct Ordered {
  OrderAnswer answer;
  std::string file;     // as write_order() writes it
  Trace trace;          // of the order
  Trace program_trace;  // as written
  std::uint64_t program_peak = 0;
  std::uint64_t resident_bytes = 0;
};

Ordered ordered(const GraphFile& file, const std::string& algorithm, const OrderOptions& options) {
  Ordered result{.answer = order(file.graph, algorithm, options, all_order_algorithms())};
  std::ostringstream text;
  write_order(text, file, result.answer);
  result.file = std::move(text).str();
  result.trace = trace_of_order(file.graph, result.answer.order, options);
  const OrderAnswer program = order(file.graph, "program", options);
  result.program_trace = trace_of_order(file.graph, program.order, options);
  result.program_peak = program.peak;
  result.resident_bytes = resident_bytes(file.graph);
  return result;
}

py::dict order_text(const std::string& text, const std::string& algorithm,
                    const OrderOptions& options) {
  const Ordered found = interruptible([file = graph_from(text), algorithm,
                                       options = options](const std::stop_source& stop) mutable {
    options.stop = &stop;
    return ordered(file, algorithm, options);
  });
  py::dict answer;
  answer["order"] = found.answer.order;
  answer["peak"] = found.answer.peak;
  answer["lower_bound"] = found.answer.lower_bound;
  answer["proved_optimal"] = found.answer.proved_optimal;
  answer["proved_by_flow"] = found.answer.proved_optimal && !found.answer.bound_by_search();
  answer["algorithm"] = found.answer.algorithm;
  answer["seconds"] = found.answer.seconds;
  answer["resident_bytes"] = found.resident_bytes;
  answer["program_peak"] = found.program_peak;
  answer["blocks"] = columns_of(found.trace);
  answer["program_blocks"] = columns_of(found.program_trace);
  answer["file"] = found.file;
  return answer;
}

py::list budget_text(const std::string& text, std::vector<double> seconds, OpId backward,
                     const std::optional<RecomputeRows>& rows, const RegionRows& regions) {
  const std::vector<GraphBudgetPoint> points =
      interruptible([=, graph = graph_from(text).graph](const std::stop_source& stop) mutable {
        GraphBudget budget(std::move(graph), std::move(seconds), backward, rows, regions, stop);
        return budget.points();
      });
  py::list answer;
  for (const GraphBudgetPoint& point : points) {
    answer.append(py::make_tuple(point.peak, point.extra_seconds, point.bound_seconds,
                                 point.sequence, point.rounds));
  }
  return answer;
}

ReplayFigures replayed(const Trace& trace, const std::string& allocator,
                       std::optional<std::uint64_t> capacity, const std::stop_source& stop) {
  SimulatedDevice device(capacity);
  const auto served = make_allocator(allocator, device);
  TraceEventReader reader(trace, "trace");
  LiveEvents events(reader);
  EventReplay replay(allocator, *served, device);
  while (!stop.stop_requested() && events.next()) replay.apply(events);
  replay.finish(events);
  return replay.figures();
}

py::dict replay_trace_under(const Trace& trace, const std::string& allocator,
                            std::optional<std::uint64_t> capacity) {
  const ReplayFigures figures = interruptible([=](const std::stop_source& stop) {
    require_sound(trace);
    return replayed(trace, allocator, capacity, stop);
  });
  py::dict answer;
  answer["allocator"] = allocator;
  answer["reserved"] = figures.end.peak_reserved_bytes;
  answer["allocated"] = figures.end.peak_allocated_bytes;
  answer["requested"] = figures.end.peak_requested_bytes;
  answer["device_allocations"] = figures.end.device_allocations;
  answer["device_frees"] = figures.end.device_frees;
  answer["refused"] = figures.refused;
  return answer;
}

template <class Table>
std::vector<std::string> names(const Table& table) {
  std::vector<std::string> result;
  for (const auto& entry : table) result.emplace_back(entry.name);
  return result;
}

// Turns errors in what users gave into a ValueError.
void raise_value_errors() {
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const TraceError& fault) {
      PyErr_SetString(PyExc_ValueError, fault.what());
    } catch (const GraphError& fault) {
      PyErr_SetString(PyExc_ValueError, fault.what());
    }
  });
}

}  // namespace
}  // namespace skyline

PYBIND11_MODULE(_memory, module) {
  using namespace skyline;
  raise_value_errors();
  py::class_<Trace>(module, "Trace")
      .def(py::init(&trace_from), py::arg("lower"), py::arg("upper"), py::arg("size"),
           py::arg("offset"), py::arg("gaps"), py::arg("alignment"));
  py::class_<PlanOptions>(module, "PlanOptions")
      .def(py::init([](std::uint64_t alignment, std::optional<std::uint64_t> capacity,
                       std::optional<double> time_limit, std::uint64_t seed, int threads) {
        return PlanOptions{.alignment = alignment,
                           .capacity = capacity,
                           .time_limit_seconds = time_limit,
                           .seed = seed,
                           .threads = threads};
      }));
  py::class_<OrderOptions>(module, "OrderOptions")
      .def(py::init([](bool in_place, std::uint64_t alignment, std::optional<double> time_limit) {
        return OrderOptions{
            .in_place = in_place, .alignment = alignment, .time_limit_seconds = time_limit};
      }));
  module.def("plan", plan_trace);
  module.def("check", check_offsets);
  module.def("order", order_text);
  module.def("budget", budget_text);
  module.def("replay", replay_trace_under);
  module.attr("__version__") = SKYLINE_VERSION;
  module.attr("planners") = names(all_planners());
  module.attr("algorithms") = names(all_order_algorithms());
  module.attr("allocators") = names(allocator_table());
}
