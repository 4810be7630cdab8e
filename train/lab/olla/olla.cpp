#include "train/lab/olla/olla.h"

#include <sstream>
#include <string_view>
#include <utility>

#include "memory/order/order_problem.h"
#include "train/cli/median.h"
#include "train/lab/olla/network_graphs.h"

namespace skyline {
namespace {

// MODeL is OLLA's code; its README shows one network, ordered by Gurobi.
std::optional<OllaFigure> published_figure(std::string_view network) {
  if (network == "alexnet-32") return OllaFigure{"OLLA (MODeL's README)", 0.5618, 0.4783};
  return std::nullopt;
}

double median_seconds(const StepGraph& graph, int runs) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) seconds.push_back(order(graph).seconds);
  return median(seconds).value_or(0);
}

OllaRow row_of(std::string_view text, const OllaOptions& options) {
  std::istringstream in{std::string(text)};
  OllaRow row{.optimal = answer({.file = read_graph(in, "embedded graph")})};
  const StepGraph& graph = row.optimal.file.graph;
  const std::uint64_t resident = row.optimal.resident_bytes;
  row.optimal.answer.seconds = median_seconds(graph, options.timed_runs);
  row.inductor = resident + order(graph, "inductor").peak;
  row.xla = resident + order(graph, "xla").peak;
  row.published = published_figure(row.optimal.file.name);

  const OrderProblem problem = order_problem(graph, {});
  row.program_bytes = order_bytes(problem, program_sequence(problem));
  row.optimal_bytes = order_bytes(problem, row.optimal.answer.order);
  for (auto* curve : {&row.program_bytes, &row.optimal_bytes}) {
    for (std::uint64_t& bytes : *curve) bytes += resident;
  }
  return row;
}

}  // namespace

double OllaReproduction::mean_saving() const {
  double sum = 0;
  for (const OllaRow& row : rows) sum += row.optimal.saving();
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

double OllaReproduction::seconds() const {
  double sum = 0;
  for (const OllaRow& row : rows) sum += row.optimal.answer.seconds;
  return sum;
}

OllaReproduction reproduce_olla(const OllaOptions& options) {
  OllaReproduction reproduction;
  for (const std::string_view text : network_graphs()) {
    reproduction.rows.push_back(row_of(text, options));
  }
  return reproduction;
}

}  // namespace skyline
