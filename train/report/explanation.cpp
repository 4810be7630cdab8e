#include "train/report/explanation.h"

#include <nlohmann/json.hpp>

#include "train/report/page.h"
#include "train/report/plan_sentences.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::string_view key_name(BestFitKey key) {
  switch (key) {
    case BestFitKey::kLifetime:
      return "lifetime";
    case BestFitKey::kSize:
      return "size";
    case BestFitKey::kArea:
      break;
  }
  return "area";
}

Json line_json(const SkylineLine& line) {
  return {{"lower", line.lower}, {"upper", line.upper}, {"offset", line.offset}};
}

Json block_json(const ExplainedPlan& explained, std::size_t index) {
  const TraceBlock& block = explained.trace.blocks[index];
  Json json = {{"id", explained.trace.id(index)},
               {"lower", block.lower},
               {"upper", block.upper},
               {"bytes", block.bytes},
               {"rounded", explained.explanation.rounded[index]},
               {"offset", explained.plan.offsets[index]}};
  if (explained.trace.tags.empty()) return json;
  const BlockTag& tag = explained.trace.tags[index];
  json["layer"] = tag.layer;
  json["op"] = tag.op;
  json["category"] = category_name(tag.category);
  return json;
}

void add_placement(const ExplainedPlan& explained, const ExplainedStep& step, Json& json) {
  const auto key = [&](std::size_t block) {
    return key_of(explained.explanation, explained.trace, block);
  };
  json["block"] = step.block;
  json["key"] = key(step.block);
  json["runner_up"] = step.runner_up ? Json(*step.runner_up) : Json(nullptr);
  json["runner_up_key"] = step.runner_up ? Json(key(*step.runner_up)) : Json(nullptr);
  json["top"] = step.top;
}

void add_lift(const ExplainedStep& step, Json& json) {
  json["joins"] = step.joins_left && step.joins_right ? "both" : step.joins_left ? "left" : "right";
  json["merged"] = line_json(step.merged);
}

Json step_json(const ExplainedPlan& explained, const ExplainedStep& step) {
  const bool places = step.act == ExplainedStep::Act::kPlace;
  Json json = {{"act", places ? "place" : "lift"},
               {"line", line_json(step.line)},
               {"equally_low", step.equally_low},
               {"candidates", step.candidates}};
  if (places) {
    add_placement(explained, step, json);
  } else {
    add_lift(step, json);
  }
  json["sentence"] = sentence_of(explained.explanation, explained.trace, step);
  return json;
}

// Returns the bytes × ticks that lifts leave unused below their lines.
double wasted(const PlanExplanation& explanation) {
  double sum = 0;
  for (const ExplainedStep& step : explanation.steps) {
    if (step.act == ExplainedStep::Act::kPlace) continue;
    sum += static_cast<double>(step.merged.offset - step.line.offset) *
           (static_cast<double>(step.line.upper) - static_cast<double>(step.line.lower));
  }
  return sum;
}

}  // namespace

std::string explanation_json(const ExplainedPlan& explained, int indent) {
  const Plan& plan = explained.plan;
  Json json = {{"title", explained.title},
               {"planner", plan.planner},
               {"key", key_name(explained.explanation.key)},
               {"alignment", plan.alignment},
               {"peak", plan.peak},
               {"lower_bound", plan.lower_bound},
               {"gap", plan.gap()},
               {"proved_optimal", plan.proved_optimal},
               {"wasted", wasted(explained.explanation)},
               {"unused_gaps", explained.trace.gaps.size()},
               {"categories", Json::array()},
               {"blocks", Json::array()},
               {"steps", Json::array()}};
  for (int i = 0; i < kCategoryCount; ++i) {
    json["categories"].push_back(category_name(static_cast<Category>(i)));
  }
  for (std::size_t i = 0; i < explained.trace.size(); ++i) {
    json["blocks"].push_back(block_json(explained, i));
  }
  for (const ExplainedStep& step : explained.explanation.steps) {
    json["steps"].push_back(step_json(explained, step));
  }
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string render_explanation(const ExplainedPlan& explained) {
  return render_page(kExplanationPage, "How the plan of " + explained.title + " was made",
                     explanation_json(explained, -1));
}

}  // namespace skyline
