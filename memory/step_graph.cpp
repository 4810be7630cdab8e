#include "memory/step_graph.h"

#include <fmt/format.h>

#include <optional>

#include "memory/errors.h"

namespace skyline {
namespace {

class Walk {
 public:
  Walk(const StepGraph& graph, const SimulateOptions& options)
      : graph_(graph), options_(options), states_(graph.values.size()) {
    for (const StepOp& op : graph.ops) {
      for (const ValueId input : op.inputs) ++state(input).readers;
    }
    for (ValueId value = 0; value < graph.values.size(); ++value) {
      if (graph.values[value].kept) state(value).kept = true;
    }
  }

  SimulatedStep run() {
    for (const StepOp& op : graph_.ops) execute(op);
    for (TraceBlock& block : step_.trace.blocks) {
      if (block.upper < 0) block.upper = tick_;
    }
    return std::move(step_);
  }

 private:
  // State of a value that owns bytes.
  struct State {
    std::int64_t readers = 0;  // remaining reads
    std::optional<std::size_t> block;
    bool written = false;
    bool kept = false;  // this value or a view of it lives to the end of the step
  };

  const StepValue& owner(ValueId value) const {
    return graph_.values[graph_.values[value].storage];
  }
  State& state(ValueId value) { return states_[graph_.values[value].storage]; }

  void note(std::optional<std::size_t> block, BlockUse::Kind kind, ValueId value) {
    if (block) step_.uses.push_back({*block, op_, kind, value});
  }

  std::size_t request(std::uint64_t bytes, const StepOp& op, Category category, ValueId value) {
    Trace& trace = step_.trace;
    trace.blocks.push_back({.lower = tick_++, .upper = -1, .bytes = bytes});
    trace.tags.push_back({op.name, op.layer, op.phase, category});
    note(trace.blocks.size() - 1, BlockUse::Kind::kRequest, value);
    return trace.blocks.size() - 1;
  }

  void release(std::optional<std::size_t> block) {
    if (block && options_.sharing) step_.trace.blocks[*block].upper = tick_++;
  }

  // Nothing reads the value any more.
  void drop(State& value) {
    if (!value.kept) release(std::exchange(value.block, std::nullopt));
  }

  void check_reads(const StepOp& op) {
    for (const ValueId input : op.inputs) {
      if (!owner(input).resident && (!state(input).written || !state(input).block)) {
        throw TraceError({.source = "simulate",
                          .problem = fmt::format("{} of {} reads value {}, which is not alive",
                                                 op.name, op.layer, input)});
      }
      note(state(input).block, BlockUse::Kind::kRead, graph_.values[input].storage);
    }
  }

  // This op is the input's last reader, the input is neither resident nor kept, and the sizes
  // match.
  bool may_write_over(ValueId input, ValueId output) {
    return state(input).readers == 1 && state(input).block && !state(input).kept &&
           owner(input).bytes == graph_.values[output].bytes;
  }

  void write_in_place(const StepOp& op) {
    if (!options_.in_place) return;
    for (const InPlacePair& pair : op.in_place) {
      const ValueId input = op.inputs[static_cast<std::size_t>(pair.input)];
      const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
      if (owner(output).resident || state(output).written || !may_write_over(input, output)) {
        continue;
      }
      state(output).block = std::exchange(state(input).block, std::nullopt);
      state(output).written = true;
      note(state(output).block, BlockUse::Kind::kOverwrite, output);
    }
  }

  void execute(const StepOp& op) {
    op_ = static_cast<OpId>(step_.begins.size());
    step_.begins.push_back(tick_);
    check_reads(op);
    write_in_place(op);
    for (const ValueId output : op.outputs) {
      const StepValue& value = graph_.values[output];
      if (value.resident || value.storage != output || state(output).written) continue;
      state(output).block = request(value.bytes, op, value.category, output);
      state(output).written = true;
    }
    if (op.workspace_bytes > 0) {
      release(request(op.workspace_bytes, op, Category::kWorkspace, BlockUse::kNoValue));
    }
    for (const ValueId input : op.inputs) {
      if (--state(input).readers == 0) drop(state(input));
    }
    for (const ValueId output : op.outputs) {
      if (graph_.values[output].storage == output && state(output).readers == 0) {
        drop(state(output));
      }
    }
  }

  const StepGraph& graph_;
  const SimulateOptions& options_;
  std::vector<State> states_;
  SimulatedStep step_;
  OpId op_ = 0;
  Tick tick_ = 0;
};

}  // namespace

Trace simulate(const StepGraph& graph, const SimulateOptions& options) {
  return Walk(graph, options).run().trace;
}

SimulatedStep simulate_uses(const StepGraph& graph, const SimulateOptions& options) {
  return Walk(graph, options).run();
}

}  // namespace skyline
