#include "train/labs/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory/random_inputs.h"
#include "memory/trace.h"

namespace skyline {
namespace {

// Memory of the step. `content` is the storage that was written there last; `owner` the one whose
// last read frees it.
struct LabBuffer {
  ValueId content = 0, owner = 0;
  std::uint64_t bytes = 0;
};

// Runs a step under a rule, with the numbers of storages in place of tensors.
class InPlaceRun {
 public:
  InPlaceRun(const StepGraph& graph, const OverwriteRule& rule)
      : graph_(graph),
        rule_(rule),
        reads_left_(graph.values.size()),
        storages_(graph.values.size()) {
    for (const StepOp& op : graph.ops) {
      for (const ValueId input : op.inputs) ++reads_left_[input], ++storage_of(input).reads_left;
    }
    for (ValueId value = 0; value < graph.values.size(); ++value) {
      const StepValue& facts = graph.values[value];
      if (facts.kept || facts.resident) storage_of(value).stays = true;
      if (facts.resident && facts.storage == value) add_buffer(value);
    }
    live_ = peak_ = 0;  // resident bytes do not count
  }

  // Returns the peak in bytes, without resident ones. Throws std::runtime_error where a value was
  // overwritten too early.
  std::uint64_t run() {
    for (const StepOp& op : graph_.ops) execute(op);
    for (ValueId value = 0; value < graph_.values.size(); ++value) {
      if (storage_of(value).stays) require_content(value, "the next step");
    }
    return peak_;
  }

 private:
  struct Storage {
    std::int64_t reads_left = 0;
    bool stays = false;  // it, or a view of it, lives to the end of the step
    std::optional<std::size_t> buffer;
  };

  Storage& storage_of(ValueId value) { return storages_[graph_.values[value].storage]; }

  void add_buffer(ValueId value) {
    storages_[value].buffer = buffers_.size();
    buffers_.push_back({.content = value, .owner = value, .bytes = graph_.values[value].bytes});
    grow(graph_.values[value].bytes);
  }

  void grow(std::uint64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }

  void require_content(ValueId value, const std::string& reader) {
    const std::optional<std::size_t> buffer = storage_of(value).buffer;
    if (!buffer || buffers_[*buffer].content == graph_.values[value].storage) return;
    throw std::runtime_error(fmt::format("{} reads value {}, but value {} was written over it",
                                         reader, value, buffers_[*buffer].content));
  }

  void execute(const StepOp& op) {
    overwrite(op);
    for (const ValueId output : op.outputs) {
      if (graph_.values[output].storage == output && !storages_[output].buffer) add_buffer(output);
    }
    grow(op.workspace_bytes);
    live_ -= op.workspace_bytes;
    for (const ValueId input : op.inputs) --reads_left_[input], --storage_of(input).reads_left;
    for (const ValueId input : op.inputs) free_if_unused(graph_.values[input].storage);
    for (const ValueId output : op.outputs) free_if_unused(graph_.values[output].storage);
  }

  // Writes outputs over inputs where the rule says so. An op reads the input that it overwrites as
  // it writes, and its other inputs afterwards, as real kernels may.
  void overwrite(const StepOp& op) {
    std::vector<bool> read(op.inputs.size());
    for (const InPlacePair& pair : op.in_place) {
      if (!can_take(op, pair) || !rule_(graph_, op, pair, reads_left_)) continue;
      const auto input = static_cast<std::size_t>(pair.input);
      require_content(op.inputs[input], op.name);
      read[input] = true;
      take(storage_of(op.inputs[input]), op.outputs[static_cast<std::size_t>(pair.output)]);
    }
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!read[k]) require_content(op.inputs[k], op.name);
    }
  }

  // Rules decide only about inputs that are still there and outputs that need memory.
  bool can_take(const StepOp& op, const InPlacePair& pair) {
    const ValueId input = op.inputs[static_cast<std::size_t>(pair.input)];
    const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
    const std::optional<std::size_t> buffer = storage_of(input).buffer;
    return graph_.values[output].storage == output && !storages_[output].buffer && buffer &&
           buffers_[*buffer].owner == graph_.values[input].storage;
  }

  void take(Storage& input, ValueId output) {
    LabBuffer& buffer = buffers_[*input.buffer];
    if (buffer.bytes != graph_.values[output].bytes) {
      throw std::runtime_error(fmt::format("value {} of {} bytes was written over {} bytes", output,
                                           graph_.values[output].bytes, buffer.bytes));
    }
    buffer.content = buffer.owner = output;
    storages_[output].buffer = input.buffer;
  }

  void free_if_unused(ValueId storage) {
    Storage& owner = storages_[storage];
    if (owner.reads_left > 0 || owner.stays || !owner.buffer) return;
    LabBuffer& buffer = buffers_[*owner.buffer];
    if (buffer.owner == storage) live_ -= std::exchange(buffer.bytes, 0);
    owner.buffer.reset();
  }

  const StepGraph& graph_;
  const OverwriteRule& rule_;
  std::vector<std::int64_t> reads_left_;  // by value
  std::vector<Storage> storages_;         // by value; views use that of their storage
  std::vector<LabBuffer> buffers_;
  std::uint64_t live_ = 0, peak_ = 0;  // bytes
};

}  // namespace

LabScore score_in_place(const OverwriteRule& rule, std::uint64_t seed) {
  constexpr std::uint64_t kGraphs = 200;
  constexpr std::uint64_t kMostOps = 40;
  std::string fault;
  std::uint64_t missed = 0;
  for (std::uint64_t k = 0; k < kGraphs && fault.empty(); ++k) {
    const StepGraph graph = RandomStepGraph(seed * kGraphs + k).draw(kMostOps);
    try {
      const std::uint64_t peak = InPlaceRun(graph, rule).run();
      missed += peak > lower_bound_bytes(simulate(graph), 1);
    } catch (const std::exception& error) {
      fault = fmt::format("graph {}: {}", k, error.what());
    }
  }
  const bool safe = fault.empty();
  return {
      .marks = {mark(fmt::format("{} steps compute what they should", kGraphs), 60, safe, fault),
                mark("no chance to overwrite is missed", 40, safe && missed == 0,
                     safe ? fmt::format("{} peaks above the least", missed) : "")}};
}

}  // namespace skyline
