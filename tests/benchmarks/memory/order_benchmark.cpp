// How long the search for the least peak takes. One line for each graph (*.json) of the folder
// given as the first argument:
//
//   GRAPH OPS  milliseconds (least of several runs)  peak  bound  proved  states  flows  baselines
//
// Bytes are without those of resident values. "flows" or "search" says what proves the bound. Then
// the same for synthetic training steps of 1,000 ops to the second argument's (default 10^5), with
// the gap and the exponent of the time's growth from line to line.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "memory/formats/graph_file.h"
#include "memory/order/order.h"
#include "tests/memory/order/training_graphs.h"

namespace skyline {
namespace {

constexpr int kRuns = 5;
constexpr double kEnoughSeconds = 1;  // no further runs after this time

OrderAnswer fastest(const StepGraph& graph) {
  OrderAnswer best = order(graph);
  double spent = best.seconds;
  for (int run = 1; run < kRuns && spent < kEnoughSeconds; ++run) {
    const OrderAnswer again = order(graph);
    spent += again.seconds;
    best.seconds = std::min(best.seconds, again.seconds);
  }
  return best;
}

void print_answer(const std::string& name, const StepGraph& graph, const OrderAnswer& answer) {
  fmt::print("{:18} {:6} ops {:9.3f} ms, peak {:11} bound {:11} {} by {}, {} states {} flows", name,
             graph.ops.size(), answer.seconds * 1e3, answer.peak, answer.lower_bound,
             answer.proved_optimal ? "proved" : "open",
             answer.bound_by_search() ? "search" : "flows", answer.states, answer.flows);
}

void print_graphs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json" && entry.path().stem() != "table") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  double sum = 0, most = 0;
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    const StepGraph graph = read_graph(in, file.string()).graph;
    const OrderAnswer answer = fastest(graph);
    print_answer(file.stem().string(), graph, answer);
    for (const OrderEntry& entry : order_algorithms()) {
      if (entry.name == kDefaultOrder) continue;
      fmt::print(", {} {}", entry.name, order(graph, entry.name).peak);
    }
    fmt::print("\n");
    sum += answer.seconds;
    most = std::max(most, answer.seconds);
  }
  fmt::print("{} graphs: {:.3f} ms, the slowest {:.3f} ms\n", files.size(), sum * 1e3, most * 1e3);
}

void print_growth(const char* name, StepGraph (*step)(std::size_t ops), std::size_t largest) {
  double last_seconds = 0, last_ops = 0;
  for (const std::size_t ops : {1000, 3000, 10000, 30000, 100000}) {
    if (ops > largest) break;
    const StepGraph graph = step(ops);
    const OrderAnswer answer = fastest(graph);
    print_answer(name, graph, answer);
    const auto size = static_cast<double>(graph.ops.size());
    fmt::print(", gap {:.4f} %", answer.gap() * 100);
    if (last_seconds > 0) {
      fmt::print(", exponent {:.2f}",
                 std::log(answer.seconds / last_seconds) / std::log(size / last_ops));
    }
    fmt::print("\n");
    std::fflush(stdout);
    last_seconds = answer.seconds;
    last_ops = size;
  }
}

}  // namespace
}  // namespace skyline

int main(int arguments, char** values) {
  if (arguments < 2) {
    fmt::print(stderr, "usage: order_benchmark FOLDER [OPS]\n");
    return 1;
  }
  try {
    skyline::print_graphs(values[1]);
    const std::size_t largest = arguments > 2 ? std::strtoull(values[2], nullptr, 10) : 100000;
    skyline::print_growth("residual", skyline::residual_step, largest);
    skyline::print_growth("lstm", skyline::lstm_step, largest);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
