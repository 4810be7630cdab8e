#include "train/report/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "framework/op.h"
#include "train/cli/byte_sizes.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kExplanationPage;  // how a plan was made

namespace {

std::uint64_t ticks_of(const TraceBlock& block) {
  return static_cast<std::uint64_t>(block.upper) - static_cast<std::uint64_t>(block.lower);
}

void read_choice(const BestFitEvent& choice, ExplainedMove& move) {
  move.line = {choice.lower, choice.upper, choice.offset};
  move.equally_low = choice.equally_low;
  move.candidates = choice.candidates;
  move.runner_up = choice.runner_up;
}

void read_act(const BestFitEvent& act, ExplainedMove& move) {
  if (act.kind == BestFitEvent::Kind::kPlacement) {
    move.block = act.block;
    move.top = act.raised_offset;
    return;
  }
  move.act = ExplainedMove::Act::kLift;
  move.merged = {act.lower, act.upper, act.raised_offset};
  move.joins_left = act.lower < move.line.lower;
  move.joins_right = act.upper > move.line.upper;
}

std::string count_of(double count, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string span_of(const SkylineLine& line) {
  return fmt::format("[{}, {})", line.lower, line.upper);
}

std::string line_sentence(const ExplainedMove& move) {
  const std::string where =
      fmt::format("{} at {}", span_of(move.line), format_bytes(move.line.offset));
  if (move.equally_low == 1) return fmt::format("The lowest line is {}.", where);
  return fmt::format("The leftmost of {} equally low lines is {}.", move.equally_low, where);
}

// By BestFitKey.
struct KeyWords {
  std::string_view planner, name, superlative;
};
constexpr KeyWords kKeyWords[] = {{"best-fit", "lifetime", "lives longest"},
                                  {"best-fit-by-size", "size", "is largest"},
                                  {"best-fit-by-area", "area", "has the most bytes × ticks"}};

const KeyWords& words_of(BestFitKey key) { return kKeyWords[static_cast<std::size_t>(key)]; }

std::string key_figure(const PlanExplanation& explanation, const Trace& trace, std::size_t block) {
  const double key = key_of(explanation, trace, block);
  if (explanation.key == BestFitKey::kLifetime) return count_of(key, "tick");
  if (explanation.key == BestFitKey::kSize) return format_bytes(explanation.rounded[block]);
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
  if (ticks_of(first) != ticks_of(second)) return equal + " but lives shorter";
  return equal + " but was requested later";
}

std::string placement_sentence(const PlanExplanation& explanation, const Trace& trace,
                               const ExplainedMove& move) {
  const std::string name = name_of(trace, move.block);
  const std::string place = fmt::format("goes to {} and ends at {}", format_bytes(move.line.offset),
                                        format_bytes(move.top));
  if (!move.runner_up) return fmt::format("Only {} lives within it: it {}.", name, place);
  return fmt::format("{} unplaced blocks live within it. {} {}, {} ({}): it {}.", move.candidates,
                     at_begin_of_sentence(name), words_of(explanation.key).superlative,
                     key_figure(explanation, trace, move.block),
                     reason_of(explanation, trace, move.block, *move.runner_up), place);
}

std::string lift_sentence(const ExplainedMove& move) {
  const std::string_view side = move.joins_left && move.joins_right
                                    ? "both neighbours, which are equally high"
                                : move.joins_left ? "its left neighbour"
                                                  : "its right neighbour";
  const std::uint64_t wasted = move.merged.offset - move.line.offset;
  if (wasted == 0) {
    return fmt::format("No unplaced block lives within it, so it merges with {} to {}.", side,
                       span_of(move.merged));
  }
  const double ticks = static_cast<double>(move.line.upper) - static_cast<double>(move.line.lower);
  return fmt::format(
      "No unplaced block lives within it, so it is lifted to {} at {} and merges with it to {}. {} "
      "× {} below stay unused.",
      side, format_bytes(move.merged.offset), span_of(move.merged), format_bytes(wasted),
      count_of(ticks, "tick"));
}

using Json = nlohmann::ordered_json;

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

void add_placement(const ExplainedPlan& explained, const ExplainedMove& move, Json& json) {
  const auto key = [&](std::size_t block) {
    return key_of(explained.explanation, explained.trace, block);
  };
  json["block"] = move.block;
  json["key"] = key(move.block);
  json["runner_up"] = move.runner_up ? Json(*move.runner_up) : Json(nullptr);
  json["runner_up_key"] = move.runner_up ? Json(key(*move.runner_up)) : Json(nullptr);
  json["top"] = move.top;
}

void add_lift(const ExplainedMove& move, Json& json) {
  json["joins"] = move.joins_left && move.joins_right ? "both" : move.joins_left ? "left" : "right";
  json["merged"] = line_json(move.merged);
}

Json move_json(const ExplainedPlan& explained, const ExplainedMove& move) {
  const bool places = move.act == ExplainedMove::Act::kPlace;
  Json json = {{"act", places ? "place" : "lift"},
               {"line", line_json(move.line)},
               {"equally_low", move.equally_low},
               {"candidates", move.candidates}};
  if (places) {
    add_placement(explained, move, json);
  } else {
    add_lift(move, json);
  }
  json["sentence"] = sentence_of(explained.explanation, explained.trace, move);
  return json;
}

// Returns the bytes × ticks that lifts leave unused below their lines.
double wasted(const PlanExplanation& explanation) {
  double sum = 0;
  for (const ExplainedMove& move : explanation.steps) {
    if (move.act == ExplainedMove::Act::kPlace) continue;
    sum += static_cast<double>(move.merged.offset - move.line.offset) *
           (static_cast<double>(move.line.upper) - static_cast<double>(move.line.lower));
  }
  return sum;
}

}  // namespace

std::optional<BestFitKey> best_fit_key(std::string_view planner) {
  const auto found = std::ranges::find(kKeyWords, planner, &KeyWords::planner);
  if (found == std::end(kKeyWords)) return {};
  return static_cast<BestFitKey>(found - std::begin(kKeyWords));
}

double key_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block) {
  const auto bytes = static_cast<double>(explanation.rounded[block]);
  const auto ticks = static_cast<double>(ticks_of(trace.blocks[block]));
  if (explanation.key == BestFitKey::kLifetime) return ticks;
  return explanation.key == BestFitKey::kSize ? bytes : bytes * ticks;
}

PlanExplanation explain_plan(const Trace& trace, std::uint64_t alignment, BestFitKey key,
                             const BestFitLog& log) {
  PlanExplanation explanation{.key = key};
  for (std::size_t i = 0; i < trace.size(); ++i) {
    explanation.rounded.push_back(planned_bytes(trace, i, alignment));
  }
  for (std::size_t i = 0; i + 1 < log.size(); i += 2) {
    ExplainedMove& move = explanation.steps.emplace_back();
    read_choice(log[i], move);
    read_act(log[i + 1], move);
  }
  return explanation;
}

std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedMove& move) {
  return line_sentence(move) + " " +
         (move.act == ExplainedMove::Act::kPlace ? placement_sentence(explanation, trace, move)
                                                 : lift_sentence(move));
}

std::string explanation_json(const ExplainedPlan& explained, int indent) {
  const Plan& plan = explained.plan;
  Json json = {{"title", explained.title},
               {"planner", plan.planner},
               {"key", words_of(explained.explanation.key).name},
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
  for (const ExplainedMove& move : explained.explanation.steps) {
    json["steps"].push_back(move_json(explained, move));
  }
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string render_explanation(const ExplainedPlan& explained) {
  return render_page(kExplanationPage, "How the plan of " + explained.title + " was made",
                     explanation_json(explained, -1));
}

}  // namespace skyline
