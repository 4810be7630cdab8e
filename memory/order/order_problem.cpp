#include "memory/order/order_problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "memory/errors.h"
#include "memory/order/order.h"

namespace skyline {
namespace {

constexpr std::uint32_t kNoValue = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void fail(std::string op, std::string problem) {
  throw GraphError({.source = "step graph", .op = std::move(op), .problem = std::move(problem)});
}

template <typename Id>
void sort_unique(std::vector<Id>& ids) {
  if (std::ranges::is_sorted(ids, std::ranges::less_equal())) return;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

class Builder {
 public:
  Builder(const StepGraph& graph, const OrderOptions& options)
      : graph_(graph),
        options_(options),
        producer_(graph.values.size(), kNoOp),
        number_(graph.values.size(), kNoValue) {}

  OrderProblem build() {
    check_ids();
    problem_.ops.resize(graph_.ops.size());
    for (OpId op = 0; op < graph_.ops.size(); ++op) add_outputs(op);
    for (const StepValue& value : graph_.values) {
      const std::uint32_t number = number_[value.storage];
      if (value.kept && number != kNoValue) problem_.values[number].kept = true;
    }
    for (OpId op = 0; op < graph_.ops.size(); ++op) add_inputs(op);
    link();
    return std::move(problem_);
  }

 private:
  const StepValue& owner(ValueId value) const {
    return graph_.values[graph_.values[value].storage];
  }
  std::uint32_t number(ValueId value) const { return number_[graph_.values[value].storage]; }
  [[noreturn]] void fail_at(OpId op, std::string problem) const {
    fail(op_name(graph_, op), std::move(problem));
  }

  void check_ids() const {
    if (options_.alignment == 0) throw std::invalid_argument("order: the alignment is 0");
    const std::size_t values = graph_.values.size();
    if (graph_.ops.size() >= kNoOp) fail({}, "has too many ops");
    for (std::size_t value = 0; value < values; ++value) {
      const ValueId storage = graph_.values[value].storage;
      if (storage >= values || graph_.values[storage].storage != storage) {
        fail({}, fmt::format("value {} is a view of {}, which owns no bytes", value, storage));
      }
    }
    for (OpId op = 0; op < graph_.ops.size(); ++op) check_ids_of(op);
  }

  void check_ids_of(OpId op) const {
    const StepOp& step = graph_.ops[op];
    for (const std::vector<ValueId>* ids : {&step.inputs, &step.outputs}) {
      for (const ValueId value : *ids) {
        if (value >= graph_.values.size()) {
          fail_at(op,
                  fmt::format("names value {}, but the graph has {}", value, graph_.values.size()));
        }
      }
    }
    for (const OpId before : step.after) {
      if (before >= graph_.ops.size()) {
        fail_at(op,
                fmt::format("runs after op {}, but the graph has {}", before, graph_.ops.size()));
      }
    }
    for (const InPlacePair& pair : step.in_place) {
      if (pair.input < 0 || static_cast<std::size_t>(pair.input) >= step.inputs.size() ||
          pair.output < 0 || static_cast<std::size_t>(pair.output) >= step.outputs.size()) {
        fail_at(op, fmt::format("has the in-place pair ({}, {}) of {} inputs and {} outputs",
                                pair.input, pair.output, step.inputs.size(), step.outputs.size()));
      }
    }
  }

  // Adds to the sum of all bytes, which bounds every sum of the search.
  std::uint64_t counted(OpId op, std::uint64_t bytes) {
    const std::uint64_t slack =
        (options_.alignment - bytes % options_.alignment) % options_.alignment;
    if (bytes > kMostStepBytes - sum_ || slack > kMostStepBytes - sum_ - bytes) {
      fail_at(op, fmt::format("brings the sum of all bytes above {}", kMostStepBytes));
    }
    sum_ += bytes + slack;
    return bytes + slack;
  }

  void add_outputs(OpId op) {
    problem_.ops[op].workspace_bytes = counted(op, graph_.ops[op].workspace_bytes);
    for (const ValueId value : graph_.ops[op].outputs) {
      const StepValue& written = graph_.values[value];
      const bool view = written.storage != value;
      if (written.resident && !view) continue;
      if (producer_[value] != kNoOp) {
        fail_at(op, fmt::format("writes value {}, which {} writes too", value,
                                op_name(graph_, producer_[value])));
      }
      producer_[value] = op;
      if (view) continue;
      number_[value] = static_cast<std::uint32_t>(problem_.values.size());
      problem_.ops[op].outputs.push_back(number_[value]);
      problem_.values.push_back(
          {.bytes = counted(op, written.bytes), .producer = op, .readers = {}, .id = value});
    }
  }

  void add_inputs(OpId op) {
    OrderProblem::Op& added = problem_.ops[op];
    added.predecessors = graph_.ops[op].after;
    for (const ValueId value : graph_.ops[op].inputs) {
      if (producer_[value] != kNoOp) added.predecessors.push_back(producer_[value]);
      if (owner(value).resident) continue;
      if (number(value) == kNoValue) {
        fail_at(op, fmt::format("reads value {}, which no op writes", value));
      }
      added.inputs.push_back(number(value));
      added.predecessors.push_back(problem_.values[number(value)].producer);
    }
    // A view is made of its owner.
    for (const ValueId value : graph_.ops[op].outputs) {
      if (number(value) == kNoValue) continue;
      const OpId made = problem_.values[number(value)].producer;
      if (made != op) added.predecessors.push_back(made);
    }
    add_pairs(op);
    sort_unique(added.inputs);
    sort_unique(added.predecessors);
  }

  // `inputs` of the op still hold a value as often as the op reads it.
  void add_pairs(OpId op) {
    if (!options_.in_place) return;
    OrderProblem::Op& added = problem_.ops[op];
    const StepOp& step = graph_.ops[op];
    for (std::uint32_t position = 0; position < step.in_place.size(); ++position) {
      const ValueId input = step.inputs[static_cast<std::size_t>(step.in_place[position].input)];
      const ValueId output = step.outputs[static_cast<std::size_t>(step.in_place[position].output)];
      const StepValue& written = graph_.values[output];
      if (owner(input).resident || written.resident || written.storage != output) continue;
      const std::uint32_t read = number(input);
      if (problem_.values[read].kept || owner(input).bytes != written.bytes) continue;
      if (std::ranges::count(added.inputs, read) != 1) continue;
      added.in_place.push_back({.input = read, .output = number(output), .position = position});
    }
  }

  void link() {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      for (const std::uint32_t value : problem_.ops[op].inputs) {
        problem_.values[value].readers.push_back(op);
      }
      for (const OpId before : problem_.ops[op].predecessors) {
        problem_.ops[before].successors.push_back(op);
      }
    }
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      const std::vector<OpId>& before = problem_.ops[op].predecessors;
      if (!before.empty() && before.back() >= op) refuse_sequence(op);
    }
  }

  // The op needs a later one: either a cycle, or only a program that cannot run as written.
  [[noreturn]] void refuse_sequence(OpId op) const {
    const std::vector<OpId> cycle = find_cycle();
    if (cycle.empty()) {
      fail_at(op, fmt::format("needs {}, which comes later",
                              op_name(graph_, problem_.ops[op].predecessors.back())));
    }
    std::string path;
    constexpr std::size_t kMostShown = 4;
    for (std::size_t i = 1; i < std::min(cycle.size(), kMostShown); ++i) {
      path += op_name(graph_, cycle[i]) + ", which needs ";
    }
    if (cycle.size() > kMostShown) {
      path += fmt::format("{} more, which need ", cycle.size() - kMostShown);
    }
    fail_at(cycle[0], fmt::format("waits for itself: it needs {}it", path));
  }

  // Returns the ops of a cycle, each followed by one that it needs; empty if there is none.
  std::vector<OpId> find_cycle() const {
    std::vector<std::size_t> missing(problem_.ops.size());
    std::vector<OpId> ready;
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      missing[op] = problem_.ops[op].predecessors.size();
      if (missing[op] == 0) ready.push_back(op);
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      for (const OpId next : problem_.ops[ready[i]].successors) {
        if (--missing[next] == 0) ready.push_back(next);
      }
    }
    if (ready.size() == problem_.ops.size()) return {};
    return walk_needs(missing);
  }

  // Every op with `missing` above 0 needs another such op, so that walking along needs meets one
  // of them again.
  std::vector<OpId> walk_needs(const std::vector<std::size_t>& missing) const {
    const auto is_left = [&](OpId op) { return missing[op] > 0; };
    std::vector<char> met(missing.size());
    std::vector<OpId> walk;
    auto at = static_cast<OpId>(
        std::ranges::find_if(missing, [](std::size_t count) { return count > 0; }) -
        missing.begin());
    for (; !met[at]; at = *std::ranges::find_if(problem_.ops[at].predecessors, is_left)) {
      met[at] = true;
      walk.push_back(at);
    }
    walk.erase(walk.begin(), std::ranges::find(walk, at));
    return walk;
  }

  const StepGraph& graph_;
  const OrderOptions& options_;
  OrderProblem problem_;
  std::vector<OpId> producer_;         // by value of the graph, views included
  std::vector<std::uint32_t> number_;  // in the problem, by value of the graph that owns bytes
  std::uint64_t sum_ = 0;
};

}  // namespace

std::string op_name(const StepGraph& graph, OpId op) {
  if (op == kNoOp) return "the end of the step";
  return graph.ops[op].name.empty() ? fmt::format("op {}", op)
                                    : fmt::format("op {} ({})", op, graph.ops[op].name);
}

OrderProblem order_problem(const StepGraph& graph, const OrderOptions& options) {
  return Builder(graph, options).build();
}

OrderWalk::OrderWalk(const OrderProblem& problem) : problem_(problem) {
  readers_left_.reserve(problem.values.size());
  for (const OrderProblem::Value& value : problem.values) {
    readers_left_.push_back(static_cast<std::uint32_t>(value.readers.size()));
  }
}

std::uint64_t OrderWalk::bytes_in_place(OpId op) const {
  const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
  std::uint64_t bytes = 0;
  UsedPairs used;
  for (const OrderProblem::Pair& pair : pairs) {
    if (readers_left_[pair.input] != 1) continue;
    // One pair alone clashes with none, and needs no heap.
    if (pairs.size() > 1 && !used.take(pair.input, pair.output)) continue;
    bytes += problem_.values[pair.output].bytes;
  }
  return bytes;
}

std::uint64_t OrderWalk::new_bytes(OpId op) const {
  const OrderProblem::Op& run = problem_.ops[op];
  std::uint64_t bytes = run.workspace_bytes;
  for (const std::uint32_t output : run.outputs) bytes += problem_.values[output].bytes;
  return run.in_place.empty() ? bytes : bytes - bytes_in_place(op);
}

std::int64_t OrderWalk::growth(OpId op) const {
  const OrderProblem::Op& run = problem_.ops[op];
  std::int64_t bytes = 0;
  for (const std::uint32_t output : run.outputs) {
    const OrderProblem::Value& value = problem_.values[output];
    if (value.kept || !value.readers.empty()) bytes += static_cast<std::int64_t>(value.bytes);
  }
  for (const std::uint32_t input : run.inputs) {
    const OrderProblem::Value& value = problem_.values[input];
    if (!value.kept && readers_left_[input] == 1) bytes -= static_cast<std::int64_t>(value.bytes);
  }
  return bytes;
}

void OrderWalk::run(OpId op) {
  live_bytes_ += static_cast<std::uint64_t>(growth(op));  // wraps to the difference
  for (const std::uint32_t input : problem_.ops[op].inputs) --readers_left_[input];
}

void OrderWalk::undo(OpId op) {
  for (const std::uint32_t input : problem_.ops[op].inputs) ++readers_left_[input];
  live_bytes_ -= static_cast<std::uint64_t>(growth(op));
}

std::vector<std::uint64_t> order_bytes(const OrderProblem& problem, std::span<const OpId> order) {
  OrderWalk walk(problem);
  std::vector<std::uint64_t> bytes;
  bytes.reserve(order.size());
  for (const OpId op : order) {
    bytes.push_back(walk.bytes_during(op));
    walk.run(op);
  }
  return bytes;
}

std::uint64_t order_peak(const OrderProblem& problem, std::span<const OpId> order) {
  const std::vector<std::uint64_t> bytes = order_bytes(problem, order);
  return bytes.empty() ? 0 : *std::ranges::max_element(bytes);
}

std::vector<OpId> program_sequence(const OrderProblem& problem) {
  std::vector<OpId> order(problem.ops.size());
  std::iota(order.begin(), order.end(), OpId{0});
  return order;
}

}  // namespace skyline
