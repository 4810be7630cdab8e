#include "train/report/step_story.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/graph_text.h"
#include "framework/op.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::uint64_t> bytes_at_ops(const SimulatedStep& step) {
  const Tick end = std::ranges::max(step.trace.blocks, {}, &TraceBlock::upper).upper;
  std::vector<std::int64_t> changes(static_cast<std::size_t>(end) + 1);
  for (const TraceBlock& block : step.trace.blocks) {
    const auto bytes = static_cast<std::int64_t>(align_request(block.bytes));
    changes[static_cast<std::size_t>(block.lower)] += bytes;
    changes[static_cast<std::size_t>(block.upper)] -= bytes;
  }
  std::vector<std::uint64_t> most;
  std::int64_t alive = 0;
  for (std::size_t op = 0, tick = 0; op < step.begins.size(); ++op) {
    const Tick next = op + 1 < step.begins.size() ? step.begins[op + 1] : end;
    std::int64_t here = alive;
    for (; static_cast<Tick>(tick) < next; ++tick) here = std::max(here, alive += changes[tick]);
    most.push_back(static_cast<std::uint64_t>(here));
  }
  return most;
}

std::vector<StrategyCurve> strategy_curves(const StepGraph& graph) {
  std::vector<StrategyCurve> curves;
  for (const auto& [name, options] : {std::pair("none", SimulateOptions{false, false}),
                                      {"in place", {true, false}},
                                      {"sharing", {false, true}},
                                      {"both", {true, true}}}) {
    curves.push_back({name, bytes_at_ops(simulate_uses(graph, options))});
  }
  return curves;
}

std::vector<std::string> reasons_of(const RecordedStep& step, const SimulatedStep& simulated) {
  std::vector<std::string> reasons(simulated.trace.size());
  for (const BlockUse& use : simulated.uses) {
    if (use.kind != BlockUse::Kind::kRequest || use.value == BlockUse::kNoValue) continue;
    const std::vector<ValueId>& outputs = step.graph.ops[use.op].outputs;
    const auto output = std::ranges::find(outputs, use.value) - outputs.begin();
    reasons[use.block] = memory_text(step, use.op, static_cast<std::size_t>(output));
  }
  return reasons;
}

StepGraph with_bytes_of(const Trace& trace, const SimulatedStep& simulated, StepGraph graph) {
  for (const BlockUse& use : simulated.uses) {
    const std::uint64_t bytes = trace.blocks[use.block].bytes;
    if (use.value == BlockUse::kNoValue) {
      graph.ops[use.op].workspace_bytes = bytes;
    } else {
      graph.values[use.value].bytes = bytes;
    }
  }
  return graph;
}

}  // namespace

bool same_lifetimes(const Trace& a, const Trace& b) {
  return std::ranges::equal(a.blocks, b.blocks, [](const TraceBlock& one, const TraceBlock& other) {
    return one.lower == other.lower && one.upper == other.upper;
  });
}

std::optional<StepStory> step_story(const RecordedStep& step, const Trace& trace, bool in_place,
                                    const OpSeconds& seconds) {
  if (step.graph.ops.empty() || trace.size() == 0) return {};
  SimulatedStep simulated = simulate_uses(step.graph, {.in_place = in_place});
  if (!same_lifetimes(simulated.trace, trace)) return {};
  StepStory story{.reasons = reasons_of(step, simulated),
                  .strategies = strategy_curves(with_bytes_of(trace, simulated, step.graph)),
                  .seconds_source = seconds.source};
  for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
    const StepOp& op = step.graph.ops[k];
    story.ops.push_back({op_of_layer(op.name, op.layer), simulated.begins[k], seconds.of[k]});
  }
  story.uses = std::move(simulated.uses);
  return story;
}

Json to_json(const StepStory& story) {
  Json json = {{"ops", Json::array()},
               {"uses", Json::array()},
               {"reasons", story.reasons},
               {"strategies", Json::array()},
               {"seconds_source", story.seconds_source}};
  for (const StepStory::Op& op : story.ops) json["ops"].push_back({op.name, op.begins, op.seconds});
  for (const BlockUse& use : story.uses) {
    json["uses"].push_back({use.block, use.op, static_cast<int>(use.kind)});
  }
  for (const StrategyCurve& curve : story.strategies) {
    json["strategies"].push_back({{"name", curve.name}, {"bytes", curve.bytes}});
  }
  return json;
}

}  // namespace skyline
