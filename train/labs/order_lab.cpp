#include "train/labs/lab.h"

#include <fmt/format.h>

#include <exception>
#include <numeric>
#include <string>

#include "memory/order/order.h"
#include "memory/order/order_checker.h"
#include "memory/random_inputs.h"

namespace skyline {
namespace {

// Checks the student's order of one graph.
OrderVerdict verdict_of(const OrderWriter& writer, const StepGraph& graph) {
  try {
    return check_sequence(graph, writer(graph));
  } catch (const std::exception& error) {
    return {.reason = fmt::format("the function threw: {}", error.what())};
  }
}

std::uint64_t program_peak(const StepGraph& graph) {
  std::vector<OpId> order(graph.ops.size());
  std::iota(order.begin(), order.end(), OpId{0});
  return check_sequence(graph, order).peak;
}

}  // namespace

LabScore score_order(const OrderWriter& writer, std::uint64_t seed) {
  constexpr std::uint64_t kGraphs = 60;
  constexpr std::uint64_t kMostOps = 30;
  std::string fault;
  std::uint64_t better = 0, worse = 0, optimal = 0;
  double excess = 0;
  for (std::uint64_t k = 0; k < kGraphs && fault.empty(); ++k) {
    const StepGraph graph = RandomStepGraph(seed * kGraphs + k).draw(kMostOps);
    const OrderVerdict verdict = verdict_of(writer, graph);
    if (!verdict.valid) fault = fmt::format("graph {}: {}", k, verdict.reason);
    const std::uint64_t program = program_peak(graph), least = order(graph).peak;
    better += verdict.peak < program;
    worse += verdict.peak > program;
    optimal += verdict.peak == least;
    if (least > 0) {
      excess += (static_cast<double>(verdict.peak) / static_cast<double>(least) - 1) / kGraphs;
    }
  }
  const bool valid = fault.empty();
  const auto seen = [valid](std::string text) { return valid ? std::move(text) : ""; };
  return {.marks = {mark(fmt::format("{} orders are valid", kGraphs), 40, valid, fault),
                    mark("never above the program's order, and sometimes below", 20,
                         valid && worse == 0 && better > 0,
                         seen(fmt::format("{} below, {} above", better, worse))),
                    mark("at most 5 % above the optimum, on average", 20, valid && excess <= 0.05,
                         seen(fmt::format("{:.1f} %", 100 * excess))),
                    mark("optimal for 9 graphs of 10", 20, valid && 10 * optimal >= 9 * kGraphs,
                         seen(fmt::format("{} of {}", optimal, kGraphs)))}};
}

}  // namespace skyline
