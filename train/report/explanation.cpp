#include "train/report/explanation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "framework/op.h"
#include "train/cli/byte_sizes.h"
#include "train/report/page.h"

namespace skyline {
namespace {

std::string count_of(double count, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string span_of(const SkylineLine& line) {
  return fmt::format("[{}, {})", line.lower, line.upper);
}

std::string line_sentence(const ExplainedStep& step) {
  const std::string where =
      fmt::format("{} at {}", span_of(step.line), format_bytes(step.line.offset));
  if (step.equally_low == 1) return fmt::format("The lowest line is {}.", where);
  return fmt::format("The leftmost of {} equally low lines is {}.", step.equally_low, where);
}

std::string_view superlative(BestFitKey key) {
  switch (key) {
    case BestFitKey::kLifetime:
      return "lives longest";
    case BestFitKey::kSize:
      return "is largest";
    case BestFitKey::kArea:
      break;
  }
  return "has the most bytes × ticks";
}

std::string key_figure(const PlanExplanation& explanation, const Trace& trace, std::size_t block) {
  const double key = key_of(explanation, trace, block);
  switch (explanation.key) {
    case BestFitKey::kLifetime:
      return count_of(key, "tick");
    case BestFitKey::kSize:
      return format_bytes(explanation.rounded[block]);
    case BestFitKey::kArea:
      break;
  }
  return fmt::format("{:.12g}", key);
}

// "conv2d of conv1 (block 7)", or "block 7" of a trace without tags.
std::string name_of(const Trace& trace, std::size_t block) {
  const std::string number = "block " + trace.id(block);
  if (trace.tags.empty() || trace.tags[block].op.empty()) return number;
  return fmt::format("{} ({})", op_of_layer(trace.tags[block].op, trace.tags[block].layer), number);
}

std::string at_begin_of_sentence(std::string text) {
  if (text.starts_with("block ")) text.front() = 'B';
  return text;
}

// Says why the block goes before a runner-up.
std::string reason_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block,
                      std::size_t runner_up) {
  const std::string name = name_of(trace, runner_up);
  if (key_of(explanation, trace, block) != key_of(explanation, trace, runner_up)) {
    return fmt::format("next is {} with {}", name, key_figure(explanation, trace, runner_up));
  }
  const TraceBlock &first = trace.blocks[block], &second = trace.blocks[runner_up];
  const std::string equal = fmt::format("{} equals it", name);
  if (explanation.rounded[block] != explanation.rounded[runner_up])
    return equal + " but is smaller";
  const auto ticks = [](const TraceBlock& one) {
    return static_cast<std::uint64_t>(one.upper) - static_cast<std::uint64_t>(one.lower);
  };
  if (ticks(first) != ticks(second)) return equal + " but lives shorter";
  return equal + " but was requested later";
}

std::string placement_sentence(const PlanExplanation& explanation, const Trace& trace,
                               const ExplainedStep& step) {
  const std::string name = name_of(trace, step.block);
  const std::string place = fmt::format("goes to {} and ends at {}", format_bytes(step.line.offset),
                                        format_bytes(step.top));
  if (!step.runner_up) return fmt::format("Only {} lives within it: it {}.", name, place);
  return fmt::format("{} unplaced blocks live within it. {} {}, {} ({}): it {}.", step.candidates,
                     at_begin_of_sentence(name), superlative(explanation.key),
                     key_figure(explanation, trace, step.block),
                     reason_of(explanation, trace, step.block, *step.runner_up), place);
}

std::string lift_sentence(const ExplainedStep& step) {
  const std::string_view side = step.joins_left && step.joins_right
                                    ? "both neighbours, which are equally high"
                                : step.joins_left ? "its left neighbour"
                                                  : "its right neighbour";
  const std::uint64_t wasted = step.merged.offset - step.line.offset;
  if (wasted == 0) {
    return fmt::format("No unplaced block lives within it, so it merges with {} to {}.", side,
                       span_of(step.merged));
  }
  const double ticks = static_cast<double>(step.line.upper) - static_cast<double>(step.line.lower);
  return fmt::format(
      "No unplaced block lives within it, so it is lifted to {} at {} and merges with it to {}. {} "
      "× {} below stay unused.",
      side, format_bytes(step.merged.offset), span_of(step.merged), format_bytes(wasted),
      count_of(ticks, "tick"));
}

}  // namespace

std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedStep& step) {
  return line_sentence(step) + " " +
         (step.act == ExplainedStep::Act::kPlace ? placement_sentence(explanation, trace, step)
                                                 : lift_sentence(step));
}

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
