#include "memory/formats/order_file.h"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/errors.h"
#include "memory/formats/json_reader.h"
#include "memory/formats/sink.h"

namespace skyline {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostIndex = kNoOp - 1;

// --- reading ---

class OrderReader {
 public:
  OrderReader(std::string_view text, std::string_view source) : source_(source) {
    try {
      json_ = read_json(text);
    } catch (const JsonError& error) {
      fail(error.what());
    }
    if (!json_.is_object()) fail("got " + shown(json_) + ", expected an object with order");
  }

  OrderFile read() const {
    require("format", json_.value("format", Json("skyline-order")) == "skyline-order",
            "\"skyline-order\"");
    require("version", json_.value("version", Json(1)) == 1, "1");
    OrderFile file{.graph_name = text("graph"),
                   .graph_hash = text("graph_hash"),
                   .algorithm = text("algorithm"),
                   .order = indices(json_, "order"),
                   .peak = optional_bytes("peak"),
                   .lower_bound = optional_bytes("lower_bound")};
    if (const Json* proved = find("proved_optimal")) {
      require("proved_optimal", proved->is_boolean(), "true or false");
      file.proved_optimal = proved->get<bool>();
    }
    if (const Json* certificate = find("certificate")) {
      file.certificate = certificate_of(*certificate);
    }
    return file;
  }

 private:
  [[noreturn]] void fail(std::string problem) const {
    throw GraphError({.source = source_, .problem = std::move(problem)});
  }

  static std::string shown(const Json& json) {
    constexpr std::size_t kLongest = 60;
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
    return text;
  }

  const Json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  void require(const char* name, bool holds, const char* expected) const {
    if (holds) return;
    fail(fmt::format("{}: got {}, expected {}", name, shown(json_[name]), expected));
  }

  std::string text(const char* name) const {
    const Json* json = find(name);
    if (json == nullptr) return {};
    require(name, json->is_string(), "a text");
    return json->get<std::string>();
  }

  std::optional<std::uint64_t> optional_bytes(const char* name) const {
    const Json* json = find(name);
    if (json == nullptr) return std::nullopt;
    return whole(*json, name, std::numeric_limits<std::uint64_t>::max());
  }

  std::uint64_t whole(const Json& json, const char* name, std::uint64_t most) const {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) {
      fail(
          fmt::format("{}: got {}, expected a whole number from 0 to {}", name, shown(json), most));
    }
    return json.get<std::uint64_t>();
  }

  OpId index(const Json& json, const char* name) const {
    return static_cast<OpId>(whole(json, name, kMostIndex));
  }

  OpId op_or_end(const Json& json, const char* name) const {
    return json.is_null() ? kNoOp : index(json, name);
  }

  const Json& list(const Json& object, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) fail(fmt::format("has no {}", name));
    if (!found->is_array()) fail(fmt::format("{}: got {}, expected a list", name, shown(*found)));
    return *found;
  }

  std::vector<std::uint32_t> indices(const Json& object, const char* name) const {
    std::vector<std::uint32_t> all;
    for (const Json& item : list(object, name)) all.push_back(index(item, name));
    return all;
  }

  // The lists of three in a list.
  template <typename Take>
  void for_each_flow(const Json& object, const char* name, Take take) const {
    for (const Json& flow : list(object, name)) {
      if (!flow.is_array() || flow.size() != 3) {
        fail(fmt::format("{}: got {}, expected a list of three", name, shown(flow)));
      }
      take(flow);
    }
  }

  BoundCase case_of(const Json& json) const {
    if (!json.is_object()) fail("cases: got " + shown(json) + ", expected an object");
    BoundCase read{.pairs = indices(json, "pairs"),
                   .closed_set = indices(json, "closed_set"),
                   .bytes = whole(json.value("bytes", Json()), "bytes", kMostStepBytes)};
    for_each_flow(json, "values", [&](const Json& flow) {
      read.values.push_back({.value = index(flow[0], "values"),
                             .reader = op_or_end(flow[1], "values"),
                             .bytes = whole(flow[2], "values", kMostStepBytes)});
    });
    for_each_flow(json, "needs", [&](const Json& flow) {
      read.needs.push_back({.op = index(flow[0], "needs"),
                            .predecessor = index(flow[1], "needs"),
                            .bytes = whole(flow[2], "needs", kMostStepBytes)});
    });
    return read;
  }

  BoundExit exit_of(const Json& json) const {
    if (!json.is_object()) fail("exits: got " + shown(json) + ", expected an object");
    if (!json.contains("op")) fail("exits: has no op");
    BoundExit read{.op = op_or_end(json["op"], "op"),
                   .bytes = whole(json.value("bytes", Json()), "bytes", kMostStepBytes)};
    for (const Json& item : list(json, "cases")) read.cases.push_back(case_of(item));
    return read;
  }

  BoundCertificate certificate_of(const Json& json) const {
    if (!json.is_object()) fail("certificate: got " + shown(json) + ", expected an object");
    const Json from_end = json.value("from_end", Json(false));
    if (!from_end.is_boolean())
      fail("from_end: got " + shown(from_end) + ", expected true or false");
    BoundCertificate read{.from_end = from_end.get<bool>(),
                          .region = indices(json, "region"),
                          .bytes = whole(json.value("bytes", Json()), "bytes", kMostStepBytes)};
    for (const Json& item : list(json, "exits")) read.exits.push_back(exit_of(item));
    return read;
  }

  std::string source_;
  Json json_;
};

// --- writing ---

class OrderWriter {
 public:
  explicit OrderWriter(const Sink& sink) : out_(sink) {}

  void write(const GraphFile& graph, const OrderAnswer& answer) {
    const std::uint64_t resident = resident_bytes(graph.graph);
    out_.print(R"({{"format":"skyline-order","version":1,"graph":{},"graph_hash":"{}",)",
               json_string(graph.name), graph_hash(graph.graph));
    out_.print("\n\"algorithm\":{},\"resident_bytes\":{},\"peak\":{},",
               json_string(answer.algorithm), resident, resident + answer.peak);
    out_.print("\"lower_bound\":{},\"proved_optimal\":{},\n", resident + answer.lower_bound,
               answer.proved_optimal);
    list("order", answer.order);
    if (!answer.certificate.exits.empty()) write_certificate(answer.certificate);
    out_.append("}\n");
    out_.finish();
  }

 private:
  template <typename Items, typename Print>
  void list(std::string_view name, const Items& items, Print print) {
    out_.print("\"{}\":[", name);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(",");
      print(items[i]);
    }
    out_.append("]");
  }
  static std::string op_or_end(OpId op) { return op == kNoOp ? "null" : std::to_string(op); }

  void list(std::string_view name, const std::vector<std::uint32_t>& items) {
    list(name, items, [this](std::uint32_t item) { out_.print("{}", item); });
  }

  void write_certificate(const BoundCertificate& certificate) {
    out_.print(",\n\"certificate\":{{\"bytes\":{},", certificate.bytes);
    if (certificate.from_end) out_.append("\"from_end\":true,");
    list("region", certificate.region);
    out_.append(",\n");
    list("exits", certificate.exits, [this](const BoundExit& exit) {
      out_.print("\n {{\"op\":{},\"bytes\":{},", op_or_end(exit.op), exit.bytes);
      list("cases", exit.cases, [this](const BoundCase& bound) { write_case(bound); });
      out_.append("}");
    });
    out_.append("}");
  }

  void write_case(const BoundCase& bound) {
    out_.print("\n  {{\"bytes\":{},", bound.bytes);
    list("pairs", bound.pairs);
    out_.append(",\n   ");
    list("values", bound.values, [this](const ValueFlow& flow) {
      out_.print("[{},{},{}]", flow.value, op_or_end(flow.reader), flow.bytes);
    });
    out_.append(",\n   ");
    list("needs", bound.needs, [this](const NeedFlow& flow) {
      out_.print("[{},{},{}]", flow.op, flow.predecessor, flow.bytes);
    });
    out_.append(",\n   ");
    list("closed_set", bound.closed_set);
    out_.append("}");
  }

  BufferedSink out_;
};

// --- the fingerprint ---

class Hash {
 public:
  void add(std::uint64_t number) {
    constexpr std::uint64_t kPrime = 0x100000001B3;
    for (int byte = 0; byte < 8; ++byte, number >>= 8) hash_ = (hash_ ^ (number & 0xFF)) * kPrime;
  }
  template <typename Numbers>
  void add_all(const Numbers& numbers) {
    add(numbers.size());
    for (const auto number : numbers) add(number);
  }
  std::string str() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace

OrderFile read_order(std::istream& in, std::string_view source) {
  return OrderReader(whole_text(in, source), source).read();
}

void write_order(std::ostream& out, const GraphFile& graph, const OrderAnswer& answer) {
  OrderWriter(stream_sink(out)).write(graph, answer);
}

std::string graph_hash(const StepGraph& graph) {
  Hash hash;
  hash.add(graph.values.size());
  for (const StepValue& value : graph.values) {
    for (const std::uint64_t number : {value.bytes, std::uint64_t{value.resident},
                                       std::uint64_t{value.kept}, std::uint64_t{value.storage}}) {
      hash.add(number);
    }
  }
  for (const StepOp& op : graph.ops) {
    for (const auto* numbers : {&op.inputs, &op.outputs, &op.after}) hash.add_all(*numbers);
    hash.add(op.workspace_bytes);
    for (const InPlacePair& pair : op.in_place) {
      hash.add(static_cast<std::uint64_t>(pair.input));
      hash.add(static_cast<std::uint64_t>(pair.output));
    }
  }
  return hash.str();
}

std::string other_graph_reason(const OrderFile& file, const GraphFile& graph) {
  const std::string name = file.graph_name.empty() ? "" : fmt::format(", {}", file.graph_name);
  if (file.order.size() != graph.graph.ops.size()) {
    return fmt::format("the order is of another graph{}: it has {} ops, the graph has {}", name,
                       file.order.size(), graph.graph.ops.size());
  }
  if (!file.graph_hash.empty() && file.graph_hash != graph_hash(graph.graph)) {
    return fmt::format("the order is of another graph{}: its hash is {}, the graph's is {}", name,
                       file.graph_hash, graph_hash(graph.graph));
  }
  return {};
}

}  // namespace skyline
