#include "memory/formats/graph_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "memory/errors.h"
#include "memory/formats/json_reader.h"
#include "memory/formats/sink.h"
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
    if (op.rounds) write_rounds(*op.rounds);
    out_.append("}");
  }

  void write_rounds(const OpRounds& rounds) {
    std::vector<std::string> slices;
    for (const auto& [offset, bytes] : rounds.slices) {
      slices.push_back(fmt::format("[{},{}]", offset, bytes));
    }
    out_.print(R"(,"rounds":{{"slices":[{}],"calls":[)", fmt::join(slices, ","));
    for (const OpRounds::Call& call : rounds.calls) {
      out_.print(R"({}{{"name":{})", &call == &rounds.calls.front() ? "" : ",",
                 json_string(call.name));
      if (!call.layer.empty()) out_.print(R"(,"layer":{})", json_string(call.layer));
      write_list("slices", call.slices);
      out_.append("}");
    }
    out_.append("]}");
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

using Json = nlohmann::json;

constexpr std::uint32_t kNoIndex = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostPosition = std::numeric_limits<std::int32_t>::max();

constexpr const char* kBytesExpected = "a whole number from 0 to 9223372036854775807";
constexpr const char* kIndexExpected = "a whole number from 0 to 4294967294";
constexpr const char* kPairExpected = "[position in inputs, position in outputs]";
constexpr const char* kTextExpected = "a text without control characters";

enum class Presence { kRequired, kOptional };
using enum Presence;

class GraphReader {
 public:
  GraphReader(std::string_view text, std::string_view source) : source_(source) {
    try {
      json_ = read_json(text);
    } catch (const JsonError& error) {
      fail(error.what());
    }
    if (!json_.is_object()) {
      fail(
          fmt::format("got {}, expected an object with format, version, resident_bytes, tensors "
                      "and ops",
                      shown(json_)));
    }
  }

  GraphFile read() {
    const Json* format = find(json_, "format", kRequired);
    require(*format == "skyline-graph", "format", *format, "\"skyline-graph\"");
    const Json* version = find(json_, "version", kRequired);
    require(is_whole(*version, 1) && *version == 1, "version", *version, "1");
    file_.name = text(json_, "name", kOptional);
    const std::uint64_t resident_bytes = bytes(json_, "resident_bytes", kRequired);
    Json& tensors = objects("tensors");
    tensors_ = static_cast<ValueId>(tensors.size());
    // Ops come first, because the faults of a tensor name the op that writes it.
    for (Json& op : objects("ops")) {
      read_op(op);
      op = nullptr;  // frees the JSON while the graph grows
    }
    op_ = kNoIndex;
    for (const Json& tensor : tensors) read_tensor(tensor);
    tensor_ = kNoIndex;
    if (file_.graph.ops.empty()) fail("has no ops");
    if (resident_bytes > 0) {
      file_.graph.values.push_back(
          {.bytes = resident_bytes, .resident = true, .storage = tensors_});
    }
    return std::move(file_);
  }

 private:
  // --- faults ---

  // Names the op being read, or the one that writes the tensor being read.
  [[noreturn]] void fail(std::string problem) const {
    const std::vector<StepOp>& ops = file_.graph.ops;
    std::size_t op = op_;
    if (tensor_ != kNoIndex) {
      const auto writer = std::ranges::find_if(ops, [this](const StepOp& one) {
        return std::ranges::find(one.outputs, tensor_) != one.outputs.end();
      });
      op = static_cast<std::size_t>(writer - ops.begin());
      problem = fmt::format("{}tensor {}: {}", op < ops.size() ? "writes " : "", tensor_, problem);
    }
    throw GraphError(
        {.source = source_,
         .op = op < ops.size() ? op_name(file_.graph, static_cast<OpId>(op)) : std::string(),
         .problem = std::move(problem)});
  }

  void require(bool holds, const char* name, const Json& got, const char* expected) const {
    if (!holds) fail(fmt::format("{}: got {}, expected {}", name, shown(got), expected));
  }

  static std::string shown(const Json& json) {
    if (json.is_object()) return "an object";
    if (json.is_array()) return "a list";
    if (json.is_string()) {
      return shown_cell(json.get_ref<const std::string&>()).substr(std::string_view("got ").size());
    }
    // Whole numbers that 64 bits cannot hold arrive as floating-point numbers.
    const double number = json.is_number_float() ? json.get<double>() : 0;
    return std::abs(number) >= 0x1p63 && std::abs(number) < 1e21 ? fmt::format("{:.0f}", number)
                                                                 : json.dump();
  }

  // --- members ---

  // Returns null for a member that may be absent and is.
  const Json* find(const Json& object, const char* name, Presence presence) const {
    const auto found = object.find(name);
    if (found != object.end()) return &*found;
    if (presence == kRequired) fail(fmt::format("has no {}", name));
    return nullptr;
  }

  static bool is_whole(const Json& json, std::uint64_t most) {
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= most;
  }

  std::string text(const Json& object, const char* name, Presence presence) const {
    const Json* json = find(object, name, presence);
    if (json == nullptr) return {};
    const auto is_control = [](unsigned char c) { return c < ' ' || c == '\x7F'; };
    require(
        json->is_string() && std::ranges::none_of(json->get_ref<const std::string&>(), is_control),
        name, *json, kTextExpected);
    return json->get<std::string>();
  }

  std::uint64_t bytes(const Json& object, const char* name, Presence presence) const {
    const Json* json = find(object, name, presence);
    if (json == nullptr) return 0;
    require(is_whole(*json, kMostStepBytes), name, *json, kBytesExpected);
    return json->get<std::uint64_t>();
  }

  std::vector<std::uint32_t> indices(const Json& object, const char* name, const char* expected,
                                     Presence presence) const {
    std::vector<std::uint32_t> all;
    const Json* list = find(object, name, presence);
    if (list == nullptr) return all;
    require(list->is_array(), name, *list, expected);
    all.reserve(list->size());
    for (const Json& index : *list) {
      require(is_whole(index, kNoIndex - 1), name, index, kIndexExpected);
      all.push_back(index.get<std::uint32_t>());
    }
    return all;
  }

  Json& objects(const char* name) {
    const Json* list = find(json_, name, kRequired);
    require(list->is_array(), name, *list, "a list of objects");
    // The resident value takes an index, too.
    if (list->size() >= kNoIndex) fail(fmt::format("has too many {}", name));
    for (const Json& item : *list) require(item.is_object(), name, item, "an object");
    return json_[name];
  }

  // --- ops and tensors ---

  std::vector<ValueId> tensors(const Json& json, const char* name, const char* use) const {
    std::vector<ValueId> all = indices(json, name, "a list of tensors", kRequired);
    for (const ValueId tensor : all) {
      if (tensor < tensors_) continue;
      fail(fmt::format("{} tensor {}, but the file has {}", use, tensor, tensors_));
    }
    return all;
  }

  void read_op(const Json& json) {
    op_ = static_cast<OpId>(file_.graph.ops.size());
    StepOp& op = file_.graph.ops.emplace_back();
    op.name = text(json, "name", kRequired);
    op.layer = text(json, "layer", kOptional);
    op.inputs = tensors(json, "inputs", "reads");
    op.outputs = tensors(json, "outputs", "writes");
    op.workspace_bytes = bytes(json, "workspace", kOptional);
    op.after = indices(json, "after", "a list of ops", kOptional);
    if (const Json* rounds = find(json, "rounds", kOptional)) op.rounds = rounds_of(*rounds);
    const Json* pairs = find(json, "in_place", kOptional);
    if (pairs == nullptr) return;
    require(pairs->is_array(), "in_place", *pairs, "a list of pairs");
    for (const Json& pair : *pairs) op.in_place.push_back(in_place_pair(pair));
  }

  std::shared_ptr<const OpRounds> rounds_of(const Json& json) const {
    constexpr const char* kSlice = "[offset, bytes]";
    OpRounds rounds;
    require(json.is_object(), "rounds", json, "an object with slices and calls");
    for (const Json& slice : list(json, "slices")) {
      require(slice.is_array() && slice.size() == 2, "slices", slice, kSlice);
      for (const Json& end : slice) require(is_whole(end, kMostStepBytes), "slices", end, kSlice);
      rounds.slices.push_back({slice[0].get<std::uint64_t>(), slice[1].get<std::uint64_t>()});
    }
    for (const Json& call : list(json, "calls")) {
      require(call.is_object(), "calls", call, "an object");
      OpRounds::Call& read = rounds.calls.emplace_back();
      read.name = text(call, "name", kRequired);
      read.layer = text(call, "layer", kOptional);
      for (const std::uint32_t slice : indices(call, "slices", "a list of slices", kRequired)) {
        if (slice >= rounds.slices.size()) fail(fmt::format("rounds have no slice {}", slice));
        read.slices.push_back(slice);
      }
    }
    return std::make_shared<const OpRounds>(std::move(rounds));
  }

  const Json& list(const Json& object, const char* name) const {
    const Json* list = find(object, name, kRequired);
    require(list->is_array(), name, *list, "a list");
    return *list;
  }

  InPlacePair in_place_pair(const Json& json) const {
    require(json.is_array(), "in_place", json, kPairExpected);
    std::vector<int> positions;
    for (const Json& position : json) {
      require(positions.size() < 2 && is_whole(position, kMostPosition), "in_place", position,
              kPairExpected);
      positions.push_back(position.get<int>());
    }
    if (positions.size() == 2) return {.input = positions[0], .output = positions[1]};
    fail(fmt::format("in_place: got a list of {}, expected {}", positions.size(), kPairExpected));
  }

  void read_tensor(const Json& json) {
    tensor_ = static_cast<ValueId>(file_.graph.values.size());
    StepValue& value = file_.graph.values.emplace_back();
    value.storage = tensor_;
    value.bytes = bytes(json, "bytes", kRequired);
    const Json* keep = find(json, "keep", kOptional);
    if (keep == nullptr) return;
    require(keep->is_boolean(), "keep", *keep, "true or false");
    value.kept = keep->get<bool>();
  }

  std::string source_;
  Json json_;
  GraphFile file_;
  ValueId tensors_ = 0;        // that the file has
  OpId op_ = kNoIndex;         // being read
  ValueId tensor_ = kNoIndex;  // being read
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
  GraphFile file = GraphReader(whole_text(in, source), source).read();
  try {
    order_problem(file.graph, {});
  } catch (const GraphError& error) {
    GraphErrorFacts facts = error.facts();
    facts.source = source;
    throw GraphError(std::move(facts));
  }
  return file;
}

void write_graph(std::ostream& out, const StepGraph& graph, std::string_view name) {
  GraphWriter(stream_sink(out), graph).write(name);
}

}  // namespace skyline
