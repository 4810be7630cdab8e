#include "train/commands/command_json.h"

#include <nlohmann/json.hpp>

#include "data/images/image_scan.h"
#include "framework/graph_text.h"
#include "train/cli/json_text.h"
#include "train/data_results.h"
#include "train/lab/comparison.h"
#include "train/lab/dry_run/dry_run_answer.h"
#include "train/lab/lanes/parallel_note.h"
#include "train/lab/olla/olla.h"
#include "train/lab/order/order_check.h"
#include "train/lab/order/order_result.h"
#include "train/lab/pgmo/pgmo.h"
#include "train/lab/plan_answer.h"
#include "train/lab/replay_report.h"
#include "train/lab/runs/run_difference.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

Json size_json(const ImageScan::Size& size) {
  if (size.pixels() == 0) return nullptr;
  return {{"width", size.width}, {"height", size.height}, {"path", size.path}};
}

Json layer_json(const LayerSummary& row) {
  Json extents = Json::array();
  for (int axis = 0; axis < row.output.rank(); ++axis) extents.push_back(row.output[axis]);
  return {{"layer", row.layer},
          {"op", row.op},
          {"output", extents},
          {"parameters", row.parameters},
          {"multiply_adds", row.multiply_adds},
          {"auxiliary", row.auxiliary}};
}

Json certificate_json(const PlanCertificate& claims) {
  return {{"planner", claims.planner},
          {"peak", claims.peak},
          {"lower_bound", claims.lower_bound},
          {"proved_bound", claims.proved_bound},
          {"gap", claims.gap},
          {"proved_optimal", claims.proved_optimal},
          {"fixed_blocks", claims.fixed_blocks},
          {"seed", claims.seed},
          {"seconds", claims.seconds}};
}

const char* verdict_name(Verdict verdict) {
  if (verdict == Verdict::kProved) return "proved";
  return verdict == Verdict::kRefuted ? "refuted" : "not settled";
}

Json value_json(const RecordedStep& step, ValueId id) {
  const StepValue& value = step.graph.values[id];
  return {{"value", id},
          {"name", step.values[id].name},
          {"type", step.values[id].spec.str()},
          {"bytes", value.bytes},
          {"category", category_name(value.category)},
          {"resident", value.resident},
          {"storage", value.storage}};
}

// Describes the memory of an op's output: in place of an input, a view of one, or new, with the
// reason.
Json output_json(const RecordedStep& step, std::size_t op, std::size_t output) {
  const ValueId id = step.graph.ops[op].outputs[output];
  Json json = {{"value", id}, {"in_place", false}, {"view", false}};
  if (step.memory[op].empty()) return json;
  const OutputMemory& memory = step.memory[op][output];
  const bool view = step.graph.values[id].storage != id;
  json["in_place"] = memory.input >= 0 && !view;
  json["view"] = memory.input >= 0 && view;
  json["input"] = memory.input >= 0 ? Json(memory.input) : Json(nullptr);
  json["reason"] = memory.reason.empty() ? Json(nullptr) : Json(memory.reason);
  return json;
}

Json op_json(const RecordedStep& step, std::size_t number) {
  const StepOp& op = step.graph.ops[number];
  Json outputs = Json::array();
  for (std::size_t j = 0; j < op.outputs.size(); ++j) {
    outputs.push_back(output_json(step, number, j));
  }
  return {{"op", op.name},       {"layer", op.layer},  {"phase", phase_name(op.phase)},
          {"inputs", op.inputs}, {"outputs", outputs}, {"workspace", op.workspace_bytes}};
}

}  // namespace

std::string PlanCheck::proof() const {
  if (plan->peak == plan->lower_bound || verdict == Verdict::kProved) return "checked";
  return plan->proved_bound > plan->lower_bound ? "claimed" : "none";
}

std::string json_of(const RunDifference& difference) { return json_text(to_json(difference)); }
std::string json_of(const Comparison& comparison) { return json_text(to_json(comparison)); }

std::string json_of(const DryRunResult& result) { return json_text(to_json(result)); }

std::string json_of(const OllaReproduction& reproduction) {
  return json_text(to_json(reproduction));
}

std::string json_of(const OrderCheck& check) { return json_text(check.json()); }

std::string json_of(const OrderResult& result) { return json_text(result.json()); }

std::string json_of(const ParallelNote& note) { return json_text(to_json(note)); }

std::string json_of(const PgmoReproduction& reproduction) {
  return json_text(to_json(reproduction));
}

std::string json_of(const RecordedStep& step, std::optional<Phase> phase) {
  Json ops = Json::array(), values = Json::array();
  for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
    if (!phase || step.graph.ops[k].phase == *phase) ops.push_back(op_json(step, k));
  }
  for (ValueId id = 0; id < step.values.size(); ++id) values.push_back(value_json(step, id));
  return json_text({{"ops", ops}, {"values", values}});
}

std::string json_of(const PlanResult& result) { return json_text(result.json()); }

std::string json_of(const std::vector<NamedReplay>& replays, bool one_allocator) {
  return json_text(replays_json(replays, one_allocator));
}

std::string json_of(const ImageScan& scan) {
  Json classes = Json::array();
  for (std::size_t label = 0; label < scan.classes.size(); ++label) {
    const ImageScan::ClassCounts& counts = scan.classes[label];
    classes.push_back({{"name", scan.class_names[label]},
                       {"train", counts.train},
                       {"val", counts.test},
                       {"bad", counts.bad}});
  }
  return json_text({{"data", scan.name},
                    {"images", scan.images},
                    {"bytes", scan.bytes},
                    {"classes", std::move(classes)},
                    {"formats", scan.formats},
                    {"smallest", size_json(scan.smallest)},
                    {"largest", size_json(scan.largest)},
                    {"bad", to_json(scan.bad)}});
}

std::string json_of(const ModelSummary& summary) {
  const ModelShape& shape = summary.shape;
  Json layers = Json::array();
  for (const LayerSummary& row : summary.layers) layers.push_back(layer_json(row));
  Json json = {{"model", summary.model}};
  if (translates(summary.model)) {
    json["sentence_words"] = summary.sentence_words;
  } else {
    json["input"] = {shape.channels, shape.height, shape.width};
    json["classes"] = shape.classes;
  }
  json["parameters"] = summary.all.parameters;
  json["multiply_adds"] = summary.all.multiply_adds;
  json["auxiliary_parameters"] = summary.auxiliary_heads.parameters;
  json["auxiliary_multiply_adds"] = summary.auxiliary_heads.multiply_adds;
  json["layers"] = layers;
  return json_text(json);
}

std::string json_of(const PlanCheck& check) {
  Json json = {{"valid", check.reason.empty()},
               {"peak", check.peak ? Json(*check.peak) : Json(nullptr)},
               {"reason", check.reason}};
  if (check.reason.empty()) {
    const Plan& plan = *check.plan;
    json["lower_bound"] = plan.lower_bound;
    json["gap"] = plan.gap();
    json["proved_bound"] = plan.proved_bound;
    json["claimed_optimal"] = plan.proved_optimal;
    json["proved_optimal"] = check.proved_optimal();
    json["proof"] = check.proof();
  }
  json["verdict"] = check.verdict ? Json(verdict_name(*check.verdict)) : Json(nullptr);
  json["certificate"] = check.claims ? certificate_json(*check.claims) : Json(nullptr);
  return json_text(json);
}

std::string json_of(const TextScan& scan) {
  const TextSummary& summary = scan.summary;
  return json_text({{"lines", summary.lines},
                    {"pairs", summary.kept},
                    {"empty", summary.empty},
                    {"invalid_utf8", summary.invalid_utf8},
                    {"source_words", scan.source_words},
                    {"target_words", scan.target_words},
                    {"bad", summary.faults}});
}

std::string json_of(const Translations& translations) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < translations.sources.size(); ++i) {
    rows.push_back(
        {{"source", translations.sources[i]}, {"translation", translations.translations[i]}});
  }
  Json json = {{"checkpoint", translations.checkpoint},
               {"sentences", translations.sources.size()},
               {"seconds", translations.seconds},
               {"unknown_words", translations.unknown_words},
               {"translations", rows}};
  if (translations.bleu) {
    json["bleu"] = *translations.bleu;
    json["bleu_smoothing"] = "none";
    json["exact_match"] = *translations.exact_match;
  }
  return json_text(json);
}

}  // namespace skyline
