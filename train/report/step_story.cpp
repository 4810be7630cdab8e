#include "train/report/step_story.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "framework/graph_text.h"
#include "framework/op.h"
#include "memory/errors.h"
#include "memory/planners/registry.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Stores each text once; blocks refer to it by index.
class Strings {
 public:
  std::size_t index_of(const std::string& text) {
    const auto [place, is_new] = indices_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return place->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, std::size_t> indices_;
  Json list_ = Json::array();
};

Json blocks_json(const Trace& trace, const Plan& plan, Strings& strings) {
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(fmt::format("[report] offsets of the plan, got {}, expected {}, one a block",
                                   plan.offsets.size(), trace.size()));
  }
  Json blocks = Json::array();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    const BlockTag tag = trace.tags.empty() ? BlockTag{} : trace.tags[i];
    blocks.push_back({block.lower, block.upper, block.bytes, plan.offsets[i],
                      strings.index_of(tag.op), strings.index_of(tag.layer),
                      static_cast<int>(tag.phase), static_cast<int>(tag.category),
                      strings.index_of(trace.ids.empty() ? std::string() : trace.ids[i])});
  }
  return blocks;
}

Json plan_json(const Plan& plan) {
  return {{"planner", plan.planner},         {"peak", plan.peak},
          {"lower_bound", plan.lower_bound}, {"gap", plan.gap()},
          {"alignment", plan.alignment},     {"proved_optimal", plan.proved_optimal},
          {"seconds", plan.seconds}};
}

Json phase_names() {
  Json names = Json::array();
  for (const Phase phase : {Phase::kOutside, Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    names.push_back(phase_name(phase));
  }
  return names;
}

Json category_names() {
  Json names = Json::array();
  for (int i = 0; i < kCategoryCount; ++i) {
    names.push_back(category_name(static_cast<Category>(i)));
  }
  return names;
}

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

std::uint64_t most_of(const OrderCurve& curve) {
  return curve.bytes.empty() ? 0 : std::ranges::max(curve.bytes);
}

Json curve_json(const OrderCurve& curve) {
  return {{"order", curve.order}, {"bytes", curve.bytes}};
}

Json cut_json(const std::vector<CutRow>& rows) {
  Json json = Json::array();
  for (const CutRow& row : rows) {
    json.push_back(Json::array({row.bytes, row.written_by, row.needed_by}));
  }
  return json;
}

}  // namespace

Json step_json(const Trace& trace, const Plan& plan) {
  Strings strings;
  Json json = {{"blocks", blocks_json(trace, plan, strings)},
               {"plan", plan_json(plan)},
               {"phases", phase_names()},
               {"categories", category_names()}};
  json["strings"] = strings.take();
  return json;
}

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
                  .box = plan(trace, "box"),
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
               {"box", {{"offsets", story.box.offsets}, {"peak", story.box.peak}}},
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

std::uint64_t OrderView::program() const { return most_of(before); }
std::uint64_t OrderView::peak() const { return most_of(after); }

Json to_json(const OrderView& view) {
  return {{"algorithm", view.algorithm},
          {"names", view.names},
          {"resident_bytes", view.resident_bytes},
          {"program", view.program()},
          {"peak", view.peak()},
          {"before", curve_json(view.before)},
          {"after", curve_json(view.after)},
          {"lower_bound", view.lower_bound},
          {"forward_as_written", view.forward_as_written},
          {"bound_by_search", view.bound_by_search},
          {"least_known", view.least_known},
          {"sentence", view.sentence},
          {"cut_rows", cut_json(view.cut)}};
}

}  // namespace skyline
