#include "memory/formats/graph_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "memory/errors.h"
#include "memory/formats/graph_parser.h"
#include "memory/formats/whole_text.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {
namespace {

constexpr ValueId kNoTensor = std::numeric_limits<ValueId>::max();

class GraphWriter {
 public:
  GraphWriter(const Sink& out, const StepGraph& graph)
      : out_(out),
        graph_(graph),
        problem_(order_problem(graph, {})),
        tensors_(graph.values.size(), kNoTensor) {}

  void write(std::string_view name) {
    out_.print(R"({{"format":"skyline-graph","version":1,"name":{},"resident_bytes":{},)",
               json_string(name), resident_bytes(graph_));
    write_tensors();
    out_.append("\"ops\":[");
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      out_.append(op == 0 ? "\n" : ",\n");
      write_op(op);
    }
    out_.append("\n]}\n");
    out_.finish();
  }

 private:
  // A resident value, and a view of one, has no tensor.
  ValueId tensor(ValueId value) const { return tensors_[graph_.values[value].storage]; }
  bool is_view(ValueId value) const { return graph_.values[value].storage != value; }

  void write_tensors() {
    std::vector<char> kept(graph_.values.size());
    for (const StepValue& value : graph_.values) kept[value.storage] |= value.kept ? 1 : 0;
    out_.append("\"tensors\":[");
    ValueId count = 0;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      if (graph_.values[id].resident || is_view(id)) continue;
      out_.print("{}{{\"bytes\":{}{}}}", count == 0 ? "\n" : ",\n", graph_.values[id].bytes,
                 kept[id] ? R"(,"keep":true)" : "");
      tensors_[id] = count++;
    }
    out_.append("\n],");
  }

  void write_op(OpId id) {
    const StepOp& op = graph_.ops[id];
    out_.print(R"({{"name":{})", json_string(op.name));
    if (!op.layer.empty()) out_.print(R"(,"layer":{})", json_string(op.layer));
    std::vector<ValueId> inputs, outputs;
    for (const ValueId input : op.inputs) {
      if (tensor(input) != kNoTensor) inputs.push_back(tensor(input));
    }
    for (const ValueId output : op.outputs) {
      if (tensor(output) != kNoTensor && !is_view(output)) outputs.push_back(tensor(output));
    }
    write_list("inputs", inputs);
    write_list("outputs", outputs);
    if (op.workspace_bytes > 0) out_.print(R"(,"workspace":{})", op.workspace_bytes);
    const std::vector<OpId> after = after_of(id);
    if (!after.empty()) write_list("after", after);
    const std::vector<std::string> pairs = pairs_of(op);
    if (!pairs.empty()) write_list("in_place", pairs);
    out_.append("}");
  }

  template <typename Items>
  void write_list(std::string_view name, const Items& items) {
    out_.print(R"(,"{}":[)", name);
    for (std::size_t i = 0; i < items.size(); ++i) {
      out_.print("{}{}", i == 0 ? "" : ",", items[i]);
    }
    out_.append("]");
  }

  // Ops that must run before this one although it reads no tensor of theirs: control edges, and the
  // makers of views that it reads.
  std::vector<OpId> after_of(OpId op) const {
    std::vector<OpId> writers, after;
    for (const std::uint32_t input : problem_.ops[op].inputs) {
      writers.push_back(problem_.values[input].producer);
    }
    std::ranges::sort(writers);
    std::ranges::set_difference(problem_.ops[op].predecessors, writers, std::back_inserter(after));
    return after;
  }

  // Positions count only inputs and outputs that are written.
  std::vector<std::string> pairs_of(const StepOp& op) const {
    const auto written_before = [this](const std::vector<ValueId>& ids, int position, bool views) {
      return std::ranges::count_if(ids.begin(), ids.begin() + position, [&](ValueId id) {
        return tensor(id) != kNoTensor && (views || !is_view(id));
      });
    };
    std::vector<std::string> pairs;
    for (const InPlacePair& pair : op.in_place) {
      const ValueId input = op.inputs[static_cast<std::size_t>(pair.input)];
      const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
      if (tensor(input) == kNoTensor || tensor(output) == kNoTensor || is_view(output)) continue;
      pairs.push_back(fmt::format("[{},{}]", written_before(op.inputs, pair.input, true),
                                  written_before(op.outputs, pair.output, false)));
    }
    return pairs;
  }

  BufferedSink out_;
  const StepGraph& graph_;
  const OrderProblem problem_;
  std::vector<ValueId> tensors_;  // by value
};

}  // namespace

std::uint64_t resident_bytes(const StepGraph& graph) {
  std::uint64_t bytes = 0;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const StepValue& value = graph.values[id];
    if (value.resident && value.storage == id) bytes += value.bytes;
  }
  return bytes;
}

GraphFile read_graph(std::istream& in, std::string_view source) {
  GraphFile file = parse_graph(whole_text(in, source), source);
  try {
    order_problem(file.graph, {});
  } catch (const GraphError& error) {
    GraphErrorFacts facts = error.facts();
    facts.source = source;
    throw GraphError(std::move(facts));
  }
  return file;
}

void write_graph(const Sink& out, const StepGraph& graph, std::string_view name) {
  GraphWriter(out, graph).write(name);
}

void write_graph(std::ostream& out, const StepGraph& graph, std::string_view name) {
  write_graph(stream_sink(out), graph, name);
}

}  // namespace skyline
