#include "memory/formats/graph_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/errors.h"
#include "memory/order/order_problem.h"

namespace skyline {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kNoIndex = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostPosition = std::numeric_limits<std::int32_t>::max();

// The object or array that the parser reads. Unknown members are skipped, however deep.
enum class Place { kFile, kTensors, kTensor, kOps, kOp, kIndices, kPairs, kPair, kUnknown };

enum class Key {
  kNone,
  kFormat,
  kVersion,
  kName,
  kResidentBytes,
  kTensors,
  kOps,
  kBytes,
  kKeep,
  kLayer,
  kInputs,
  kOutputs,
  kWorkspace,
  kAfter,
  kInPlace,
};

constexpr const char* kBytesExpected = "a whole number from 0 to 9223372036854775807";
constexpr const char* kIndexExpected = "a whole number from 0 to 4294967294";
constexpr const char* kPairExpected = "[position in inputs, position in outputs]";
constexpr const char* kTextExpected = "a text without control characters";

struct Member {
  Place of;
  Key key;
  std::string_view name;
  const char* expected;
  bool required = false;
};

constexpr Member kMembers[] = {
    {Place::kFile, Key::kFormat, "format", "\"skyline-graph\"", true},
    {Place::kFile, Key::kVersion, "version", "1", true},
    {Place::kFile, Key::kName, "name", kTextExpected},
    {Place::kFile, Key::kResidentBytes, "resident_bytes", kBytesExpected, true},
    {Place::kFile, Key::kTensors, "tensors", "a list of objects", true},
    {Place::kFile, Key::kOps, "ops", "a list of objects", true},
    {Place::kTensor, Key::kBytes, "bytes", kBytesExpected, true},
    {Place::kTensor, Key::kKeep, "keep", "true or false"},
    {Place::kOp, Key::kName, "name", kTextExpected, true},
    {Place::kOp, Key::kLayer, "layer", kTextExpected},
    {Place::kOp, Key::kInputs, "inputs", "a list of tensors", true},
    {Place::kOp, Key::kOutputs, "outputs", "a list of tensors", true},
    {Place::kOp, Key::kWorkspace, "workspace", kBytesExpected},
    {Place::kOp, Key::kAfter, "after", "a list of ops"},
    {Place::kOp, Key::kInPlace, "in_place", "a list of pairs"},
};

const Member* find_member(Place of, Key key) {
  const auto found = std::ranges::find_if(
      kMembers, [&](const Member& member) { return member.of == of && member.key == key; });
  return found == std::end(kMembers) ? nullptr : found;
}

// A value that is neither a list nor an object.
struct Scalar {
  std::string shown;  // in errors
  std::optional<std::uint64_t> number = {};
  std::optional<bool> flag = {};
  std::optional<std::string_view> text = {};
};

bool is_plain(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; });
}

// Builds the graph while the text is read, so that no tree of a million ops is ever in memory.
class GraphParser final : public nlohmann::json_sax<Json> {
 public:
  explicit GraphParser(std::string_view source) : source_(source) {}

  GraphFile finish() {
    if (tensor_fault_) report_tensor_fault();
    if (ops().empty()) fail("has no ops");
    for (OpId op = 0; op < ops().size(); ++op) check_tensors_of(op);
    if (resident_bytes_ > 0) {
      const auto id = static_cast<ValueId>(values().size());
      values().push_back({.bytes = resident_bytes_, .resident = true, .storage = id});
    }
    return std::move(file_);
  }

  bool null() override { return scalar({.shown = "null"}); }
  bool boolean(bool value) override {
    return scalar({.shown = value ? "true" : "false", .flag = value});
  }
  bool number_integer(std::int64_t value) override {
    return scalar({.shown = std::to_string(value)});
  }
  bool number_unsigned(std::uint64_t value) override {
    return scalar({.shown = std::to_string(value), .number = value});
  }
  // Whole numbers above 2^64 come here, too.
  bool number_float(double, const std::string& text) override { return scalar({.shown = text}); }
  bool string(std::string& text) override { return scalar({.shown = {}, .text = text}); }
  bool binary(Json::binary_t&) override { return true; }  // not in texts

  bool start_object(std::size_t) override { return enter(true); }
  bool start_array(std::size_t) override { return enter(false); }

  bool key(std::string& name) override {
    Frame& object = frames_.back();
    if (object.place == Place::kUnknown) return true;
    const auto found = std::ranges::find_if(kMembers, [&](const Member& member) {
      return member.of == object.place && member.name == name;
    });
    object.key = found == std::end(kMembers) ? Key::kNone : found->key;
    if (object.key == Key::kNone) return true;
    if ((object.seen & bit(object.key)) != 0) fault(fmt::format("has {} twice", name));
    object.seen |= bit(object.key);
    return true;
  }

  bool end_object() override {
    const Frame object = frames_.back();
    for (const Member& member : kMembers) {
      if (member.of == object.place && member.required && (object.seen & bit(member.key)) == 0) {
        fault(fmt::format("has no {}", member.name));
      }
    }
    frames_.pop_back();
    return true;
  }

  bool end_array() override {
    if (frames_.back().place == Place::kPair && pair_size_ != 2) {
      fault(fmt::format("in_place: got a list of {}, expected {}", pair_size_, kPairExpected));
    }
    frames_.pop_back();
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
    std::erase_if(frames_, [](const Frame& frame) { return frame.place == Place::kTensor; });
    fault(fmt::format("is not JSON at byte {}", byte));
    return false;
  }

 private:
  struct Frame {
    Place place;
    Key key = Key::kNone;    // of the member being read; objects only
    std::uint32_t seen = 0;  // bits of its members so far
  };

  struct TensorFault {
    ValueId tensor;
    std::string problem;
  };

  static std::uint32_t bit(Key key) { return std::uint32_t{1} << static_cast<unsigned>(key); }
  std::vector<StepValue>& values() { return file_.graph.values; }
  std::vector<StepOp>& ops() { return file_.graph.ops; }

  bool is_in(Place place) const {
    return std::ranges::find(frames_, place, &Frame::place) != frames_.end();
  }

  // --- faults ---

  [[noreturn]] void fail(std::string problem, std::string op = {}) const {
    throw GraphError({.source = source_, .op = std::move(op), .problem = std::move(problem)});
  }

  // The fault of a tensor is kept until the op that writes it is known.
  void fault(std::string problem) {
    if (is_in(Place::kTensor)) {
      const auto tensor = static_cast<ValueId>(values().size() - 1);
      if (!tensor_fault_) tensor_fault_ = {tensor, std::move(problem)};
      return;
    }
    fail(std::move(problem), is_in(Place::kOp) ? op_name(file_.graph, last_op()) : std::string());
  }

  void report_tensor_fault() {
    const auto& [tensor, problem] = *tensor_fault_;
    for (OpId op = 0; op < ops().size(); ++op) {
      if (std::ranges::find(ops()[op].outputs, tensor) == ops()[op].outputs.end()) continue;
      fail(fmt::format("writes tensor {}: {}", tensor, problem), op_name(file_.graph, op));
    }
    fail(fmt::format("tensor {}: {}", tensor, problem));
  }

  void unexpected(const std::string& got) {
    if (frames_.empty()) {
      fail(
          fmt::format("got {}, expected an object with format, version, resident_bytes, tensors "
                      "and ops",
                      got));
    }
    const Member* member = nullptr;  // the innermost that has a name
    for (auto frame = frames_.rbegin(); member == nullptr; ++frame) {
      member = find_member(frame->place, frame->key);
    }
    fault(fmt::format(
        "{}: got {}, expected {}", member->name, got,
        frames_.back().key == member->key ? member->expected : expected_in(frames_.back().place)));
  }

  static const char* expected_in(Place list) {
    if (list == Place::kIndices) return kIndexExpected;
    return list == Place::kPairs || list == Place::kPair ? kPairExpected : "an object";
  }

  // --- lists and objects ---

  bool enter(bool object) {
    std::optional<Place> place = child(object);
    if (!place) {
      unexpected(object ? "an object" : "a list");
      place = Place::kUnknown;  // of a faulty tensor
    }
    if (place == Place::kTensor) values().push_back({.storage = next_id()});
    if (place == Place::kOp) add_op();
    if (place == Place::kPair) {
      ops().back().in_place.emplace_back();
      pair_size_ = 0;
    }
    frames_.push_back({.place = *place});
    return true;
  }

  std::optional<Place> child(bool object) const {
    if (frames_.empty()) return object ? std::optional(Place::kFile) : std::nullopt;
    const Frame& frame = frames_.back();
    switch (frame.place) {
      case Place::kUnknown:
        return Place::kUnknown;
      case Place::kTensors:
        return object ? std::optional(Place::kTensor) : std::nullopt;
      case Place::kOps:
        return object ? std::optional(Place::kOp) : std::nullopt;
      case Place::kPairs:
        return object ? std::nullopt : std::optional(Place::kPair);
      case Place::kIndices:
      case Place::kPair:
        return std::nullopt;
      default:
        if (frame.key == Key::kNone) return Place::kUnknown;
        return object ? std::nullopt : list_of(frame.key);
    }
  }

  static std::optional<Place> list_of(Key key) {
    switch (key) {
      case Key::kTensors:
        return Place::kTensors;
      case Key::kOps:
        return Place::kOps;
      case Key::kInputs:
      case Key::kOutputs:
      case Key::kAfter:
        return Place::kIndices;
      case Key::kInPlace:
        return Place::kPairs;
      default:
        return std::nullopt;
    }
  }

  // --- scalars ---

  bool scalar(Scalar value) {
    if (frames_.empty() || !take(value)) {
      unexpected(value.text ? shown_text(*value.text) : value.shown);
    }
    return true;
  }

  static std::string shown_text(std::string_view text) {
    return shown_cell(text).substr(std::string_view("got ").size());
  }

  bool take(const Scalar& value) {
    const Frame& frame = frames_.back();
    switch (frame.place) {
      case Place::kFile:
        return take_of_file(frame.key, value);
      case Place::kTensor:
        return take_of_tensor(frame.key, value);
      case Place::kOp:
        return take_of_op(frame.key, value);
      case Place::kIndices:
        return take_index(value);
      case Place::kPair:
        return take_position(value);
      default:
        return frame.place == Place::kUnknown;
    }
  }

  bool take_of_file(Key key, const Scalar& value) {
    switch (key) {
      case Key::kFormat:
        return value.text == "skyline-graph";
      case Key::kVersion:
        return value.number == 1;
      case Key::kName:
        return take_text(value, file_.name);
      case Key::kResidentBytes:
        return take_bytes(value, resident_bytes_);
      default:
        return key == Key::kNone;
    }
  }

  bool take_of_tensor(Key key, const Scalar& value) {
    StepValue& tensor = values().back();
    if (key == Key::kBytes) return take_bytes(value, tensor.bytes);
    if (key == Key::kKeep) tensor.kept = value.flag.value_or(false);
    return key == Key::kNone || value.flag.has_value();
  }

  bool take_of_op(Key key, const Scalar& value) {
    StepOp& op = ops().back();
    switch (key) {
      case Key::kName:
        return take_text(value, op.name);
      case Key::kLayer:
        return take_text(value, op.layer);
      case Key::kWorkspace:
        return take_bytes(value, op.workspace_bytes);
      default:
        return key == Key::kNone;
    }
  }

  static bool take_text(const Scalar& value, std::string& text) {
    if (!value.text || !is_plain(*value.text)) return false;
    text = *value.text;
    return true;
  }

  static bool take_bytes(const Scalar& value, std::uint64_t& bytes) {
    bytes = value.number.value_or(0);
    return value.number && bytes <= kMostStepBytes;
  }

  bool take_index(const Scalar& value) {
    if (!value.number || *value.number >= kNoIndex) return false;
    const Key list = frames_[frames_.size() - 2].key;
    StepOp& op = ops().back();
    auto& indices = list == Key::kInputs    ? op.inputs
                    : list == Key::kOutputs ? op.outputs
                                            : op.after;
    indices.push_back(static_cast<std::uint32_t>(*value.number));
    return true;
  }

  bool take_position(const Scalar& value) {
    if (!value.number || *value.number > kMostPosition) return false;
    InPlacePair& pair = ops().back().in_place.back();
    (pair_size_ == 0 ? pair.input : pair.output) = static_cast<int>(*value.number);
    return ++pair_size_ <= 2;
  }

  // --- the graph ---

  ValueId next_id() {
    if (values().size() >= kNoIndex - 1) fail("has too many tensors");
    return static_cast<ValueId>(values().size());
  }

  void add_op() {
    if (ops().size() >= kNoIndex) fail("has too many ops");
    ops().emplace_back();
  }

  OpId last_op() const { return static_cast<OpId>(file_.graph.ops.size() - 1); }

  void check_tensors_of(OpId op) {
    for (const auto* tensors : {&ops()[op].inputs, &ops()[op].outputs}) {
      for (const ValueId tensor : *tensors) {
        if (tensor < values().size()) continue;
        fail(
            fmt::format("{} tensor {}, but the file has {}",
                        tensors == &ops()[op].inputs ? "reads" : "writes", tensor, values().size()),
            op_name(file_.graph, op));
      }
    }
  }

  std::string source_;
  GraphFile file_;
  std::uint64_t resident_bytes_ = 0;
  std::vector<Frame> frames_;  // from the whole file to the innermost list or object
  int pair_size_ = 0;
  std::optional<TensorFault> tensor_fault_;  // the first
};

}  // namespace

GraphFile parse_graph(std::string_view text, std::string_view source) {
  GraphParser parser(source);
  Json::sax_parse(text, &parser);
  return parser.finish();
}

}  // namespace skyline
