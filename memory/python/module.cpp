// The extension module skyline._memory. The package beside it (skyline/) prepares its arguments and
// documents what users call.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
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
#include "memory/python/trace_columns.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_events.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"

namespace skyline {
namespace {

namespace py = pybind11;

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
