// Any bytes are either an order's file or end in a GraphError. Whatever order and certificate the
// checker accepts for the graph below, the bound is at most the peak.
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "memory/errors.h"
#include "memory/formats/order_file.h"
#include "memory/order/order_checker.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Two branches that meet; one may be written in place, one value is kept. corpus/order/ holds its
// best order.
skyline::GraphFile branches() {
  return {
      .name = "branches",
      .graph = {.values = {{.bytes = 8, .storage = 0},
                           {.bytes = 20, .storage = 1},
                           {.bytes = 30, .storage = 2},
                           {.bytes = 20, .kept = true, .storage = 3},
                           {.bytes = 5, .storage = 4},
                           {.bytes = 5, .storage = 5}},
                .ops = {{.name = "in", .outputs = {0}},
                        {.name = "left", .inputs = {0}, .outputs = {1}},
                        {.name = "right", .inputs = {0}, .outputs = {2}, .workspace_bytes = 3},
                        {.name = "over", .inputs = {1}, .outputs = {3}, .in_place = {{0, 0}}},
                        {.name = "shrink", .inputs = {2}, .outputs = {4}, .after = {1}},
                        {.name = "out", .inputs = {3, 4}, .outputs = {5}, .in_place = {{1, 0}}}}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skyline;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const OrderFile file = read_order(in, "fuzz");
    const GraphFile graph = branches();
    other_graph_reason(file, graph);
    const OrderVerdict sequence = check_sequence(graph.graph, file.order);
    require(sequence.valid == sequence.reason.empty());
    if (!file.certificate) return 0;
    const OrderVerdict bound = check_certificate(graph.graph, *file.certificate);
    require(bound.valid == bound.reason.empty());
    if (sequence.valid && bound.valid) require(file.certificate->bytes <= sequence.peak);
  } catch (const GraphError&) {
  }
  return 0;
}
