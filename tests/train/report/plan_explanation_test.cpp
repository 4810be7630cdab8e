#include "train/report/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "memory/random_inputs.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/random_traces.h"
#include "tests/train/parsed_json.h"
#include "tests/train/patterns.h"
#include "tests/train/report/browser.h"
#include "train/report/explanation.h"

namespace skyline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kPlanners[] = {"best-fit", "best-fit-by-size", "best-fit-by-area"};

// A plan with its explanation.
struct Told {
  Trace trace;
  Plan plan;
  PlanExplanation story;

  Told(Trace of, const std::string& planner, std::uint64_t alignment = 1) : trace(std::move(of)) {
    BestFitLog log;
    plan = skyline::plan(trace, planner, {.alignment = alignment, .log = &log});
    story = explain_plan(trace, alignment, *best_fit_key(planner), log);
  }
  ExplainedPlan explained(const std::string& title = "trace.csv") const {
    return {trace, plan, story, title};
  }
  std::string sentence(std::size_t step) const {
    return sentence_of(story, trace, story.steps.at(step));
  }
};

// Two towers, a valley between them that only the chip fits, and a lid.
const Trace kValley{.blocks = {{0, 4, 8}, {6, 10, 6}, {0, 10, 2}, {4, 6, 1}},
                    .ids = {"left", "right", "lid", "chip"}};

TEST(PlanExplanation, KnowsWhichPlannersItExplains) {
  EXPECT_EQ(best_fit_key("best-fit"), BestFitKey::kLifetime);
  EXPECT_EQ(best_fit_key("best-fit-by-size"), BestFitKey::kSize);
  EXPECT_EQ(best_fit_key("best-fit-by-area"), BestFitKey::kArea);
  EXPECT_EQ(best_fit_key("portfolio"), std::nullopt);
}

TEST(PlanExplanation, TellsFigureOneStepByStep) {
  const Told told(kValley, "best-fit-by-size");
  ASSERT_EQ(told.story.steps.size(), 6u);
  EXPECT_EQ(
      told.sentence(0),
      "The lowest line is [0, 10) at 0 B. 4 unplaced blocks live within it. Block left is largest, "
      "8 B (next is block right with 6 B): it goes to 0 B and ends at 8 B.");
  EXPECT_EQ(told.sentence(1),
            "The lowest line is [4, 10) at 0 B. 2 unplaced blocks live within it. Block right is "
            "largest, 6 B (next is block chip with 1 B): it goes to 0 B and ends at 6 B.");
  EXPECT_EQ(
      told.sentence(2),
      "The lowest line is [4, 6) at 0 B. Only block chip lives within it: it goes to 0 B and ends "
      "at 1 B.");
  EXPECT_EQ(told.sentence(3),
            "The lowest line is [4, 6) at 1 B. No unplaced block lives within it, so it is lifted "
            "to its right neighbour at 6 B and merges with it to [4, 10). 5 B × 2 ticks below "
            "stay unused.");
  EXPECT_EQ(told.sentence(4),
            "The lowest line is [4, 10) at 6 B. No unplaced block lives within it, so it is lifted "
            "to its left neighbour at 8 B and merges with it to [0, 10). 2 B × 6 ticks below "
            "stay unused.");
  EXPECT_EQ(
      told.sentence(5),
      "The lowest line is [0, 10) at 8 B. Only block lid lives within it: it goes to 8 B and ends "
      "at 10 B.");
}

TEST(PlanExplanation, SaysWhatDecidesBetweenEquals) {
  const auto first = [](std::vector<TraceBlock> blocks, const std::string& planner) {
    return Told({.blocks = std::move(blocks)}, planner).sentence(0);
  };
  EXPECT_THAT(first({{0, 4, 1}, {0, 4, 2}}, "best-fit"),
              HasSubstr("Block 1 lives longest, 4 ticks (block 0 equals it but is smaller)"));
  EXPECT_THAT(first({{0, 3, 2}, {0, 4, 2}}, "best-fit-by-size"),
              HasSubstr("Block 1 is largest, 2 B (block 0 equals it but lives shorter)"));
  EXPECT_THAT(
      first({{0, 4, 2}, {0, 4, 2}}, "best-fit-by-area"),
      HasSubstr(
          "Block 0 has the most bytes × ticks, 8 (block 1 equals it but was requested later)"));
  EXPECT_THAT(first({{0, 1, 2}, {0, 3, 1}}, "best-fit"), HasSubstr("next is block 0 with 1 tick)"));
}

TEST(PlanExplanation, NamesBlocksByOpAndLayer) {
  const Told told({.blocks = {{0, 2, 4}, {0, 4, 4}},
                   .tags = {{"relu", "act1", Phase::kForward, Category::kActivation},
                            {"conv2d", "conv1", Phase::kForward, Category::kActivation}}},
                  "best-fit");
  EXPECT_THAT(told.sentence(0),
              HasSubstr("live within it. conv2d of conv1 (block 1) lives longest, 4 ticks (next is "
                        "relu of act1 (block 0) with 2 ticks)"));
}

TEST(PlanExplanation, SaysWhenLinesAreEquallyLow) {
  const Told told({.blocks = {{0, 2, 4}, {2, 4, 4}, {0, 4, 1}}}, "best-fit-by-size");
  EXPECT_THAT(told.sentence(1), HasSubstr("The lowest line is [2, 4) at 0 B."));
  EXPECT_THAT(told.sentence(2), HasSubstr("The leftmost of 2 equally low lines is [0, 2) at 4 B."));
  EXPECT_THAT(told.sentence(2), HasSubstr("so it merges with its right neighbour to [0, 4)."));
  const Told both({.blocks = {{0, 2, 4}, {4, 6, 4}, {0, 6, 1}}}, "best-fit-by-size");
  EXPECT_THAT(both.sentence(2), HasSubstr("to both neighbours, which are equally high at 4 B and "
                                          "merges with it to [0, 6). 4 B × 2 ticks below"));
}

// Derives the offsets from the explanation's JSON alone.
std::vector<std::uint64_t> replayed(const json& story) {
  std::vector<std::uint64_t> offsets(story["blocks"].size(), ~0ull);
  for (const json& step : story["steps"]) {
    if (step["act"] != "place") continue;
    std::uint64_t& offset = offsets.at(step["block"].get<std::size_t>());
    EXPECT_EQ(offset, ~0ull) << "a block is placed twice";
    offset = step["line"]["offset"];
    EXPECT_EQ(
        step["top"],
        offset + story["blocks"][step["block"].get<std::size_t>()]["rounded"].get<std::uint64_t>());
  }
  return offsets;
}

// Rebuilds the skyline from the JSON alone. The line of every step must exist and be the lowest.
void require_consistent(const json& story) {
  std::map<Tick, json> lines;
  const auto add = [&lines](Tick lower, Tick upper, std::uint64_t offset) {
    if (lower < upper) lines[lower] = {{"lower", lower}, {"upper", upper}, {"offset", offset}};
  };
  const auto remove = [&lines](Tick lower) { ASSERT_EQ(lines.erase(lower), 1u); };
  const json& blocks = story["blocks"];
  Tick first = blocks[0]["lower"], last = blocks[0]["upper"];
  for (const json& block : blocks) {
    first = std::min(first, block["lower"].get<Tick>());
    last = std::max(last, block["upper"].get<Tick>());
  }
  add(first, last, 0);
  for (const json& step : story["steps"]) {
    const json line = step["line"];
    ASSERT_EQ(lines[line["lower"]], line);
    for (const auto& [lower, other] : lines) {
      ASSERT_GE(other["offset"], line["offset"]);
      ASSERT_TRUE(other["offset"] > line["offset"] || lower >= line["lower"]);
    }
    remove(line["lower"]);
    if (step["act"] == "place") {
      ASSERT_EQ(step["candidates"] == 1, step["runner_up"].is_null());
      ASSERT_TRUE(step["runner_up"].is_null() || step["key"] >= step["runner_up_key"]);
      const json& block = blocks[step["block"].get<std::size_t>()];
      add(line["lower"], block["lower"], line["offset"]);
      add(block["lower"], block["upper"], step["top"]);
      add(block["upper"], line["upper"], line["offset"]);
    } else {
      ASSERT_EQ(step["candidates"], 0);
      const json& merged = step["merged"];
      if (step["joins"] != "right") remove(merged["lower"]);
      if (step["joins"] != "left") remove(line["upper"]);
      add(merged["lower"], merged["upper"], merged["offset"]);
    }
  }
}

TEST(PlanExplanation, RebuildsThePlanOfEveryTraceAndKey) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Trace trace = seed % 2 == 0 ? with_bytes(random_trace(seed, 1 + seed % 40, 30, 100))
                                      : training_trace(seed, 1 + seed % 15, 4000);
    for (const char* planner : kPlanners) {
      SCOPED_TRACE(std::string(planner) + " on seed " + std::to_string(seed));
      const Told told(trace, planner, 1 + seed % 5);
      const json story = parsed_json(explanation_json(told.explained(), -1));
      ASSERT_EQ(replayed(story), told.plan.offsets);
      ASSERT_NO_FATAL_FAILURE(require_consistent(story));
      ASSERT_EQ(story["peak"], told.plan.peak);
      ASSERT_EQ(story["planner"], planner);
    }
  }
}

TEST(PlanExplanation, HandlesExtremes) {
  EXPECT_TRUE(Told({}, "best-fit").story.steps.empty());
  const Told dot({.blocks = {{INT64_MIN, INT64_MAX, INT64_MAX}}}, "best-fit-by-area");
  EXPECT_EQ(dot.story.steps.size(), 1u);
  const Told equal({.blocks = std::vector<TraceBlock>(300, {5, 6, 7})}, "best-fit");
  EXPECT_EQ(equal.story.steps.size(), 300u);
  EXPECT_EQ(equal.plan.offsets[299], 299u * 7);
}

TEST(ExplanationJson, HasItsKeys) {
  Told told(kValley, "best-fit-by-size");
  const json story = parsed_json(explanation_json(told.explained(), 1));
  EXPECT_EQ(story["title"], "trace.csv");
  EXPECT_EQ(story["key"], "size");
  EXPECT_EQ(story["alignment"], 1);
  EXPECT_EQ(story["lower_bound"], 10);
  EXPECT_EQ(story["gap"], 0.0);
  EXPECT_EQ(story["proved_optimal"], true);
  EXPECT_EQ(story["wasted"], 5 * 2 + 2 * 6);
  EXPECT_EQ(story["unused_gaps"], 0);
  EXPECT_EQ(story["blocks"][3], json({{"id", "chip"},
                                      {"lower", 4},
                                      {"upper", 6},
                                      {"bytes", 1},
                                      {"rounded", 1},
                                      {"offset", 0}}));
  EXPECT_EQ(story["steps"][1], json({{"act", "place"},
                                     {"line", {{"lower", 4}, {"upper", 10}, {"offset", 0}}},
                                     {"equally_low", 1},
                                     {"candidates", 2},
                                     {"block", 1},
                                     {"key", 6.0},
                                     {"runner_up", 3},
                                     {"runner_up_key", 1.0},
                                     {"top", 6},
                                     {"sentence", told.sentence(1)}}));
  EXPECT_EQ(story["steps"][3], json({{"act", "lift"},
                                     {"line", {{"lower", 4}, {"upper", 6}, {"offset", 1}}},
                                     {"equally_low", 1},
                                     {"candidates", 0},
                                     {"joins", "right"},
                                     {"merged", {{"lower", 4}, {"upper", 10}, {"offset", 6}}},
                                     {"sentence", told.sentence(3)}}));
  told.trace.tags = {4, {"relu", "conv1\xff", Phase::kForward, Category::kActivation}};
  const json tagged = parsed_json(explanation_json(told.explained(), 1));
  EXPECT_EQ(tagged["blocks"][0]["layer"], "conv1\xEF\xBF\xBD");
  EXPECT_EQ(tagged["blocks"][0]["op"], "relu");
  EXPECT_EQ(tagged["blocks"][0]["category"], "activation");
}

TEST(ExplanationPage, NeedsNothingFromElsewhere) {
  const std::string page = render_explanation(Told(kValley, "best-fit").explained());
  for (const char* reach : {"src=", "href", "url(", "@import", "import(", "fetch(",
                            "XMLHttpRequest", "https:", "http:", "WebSocket"}) {
    EXPECT_EQ(page.find(reach), page.npos) << reach;  // Not(HasSubstr) would print the whole page
  }
}

TEST(ExplanationPage, LetsNoTextBecomeMarkup) {
  Told told(kValley, "best-fit");
  const std::string plain = render_explanation(told.explained());
  const std::string hostile = "</script><!-- <b>&amp; {{style}}";
  told.trace.ids[0] = hostile;
  const std::string page = render_explanation(told.explained(hostile));
  const auto ends = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("</script", at)) != text.npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(ends(page), ends(plain));
  EXPECT_NE(
      page.find("<h1>How the plan of &lt;/script&gt;&lt;!-- &lt;b&gt;&amp;amp; {{style}} was"),
      page.npos);
}

TEST(ExplanationPage, HasEveryElementAndColourThatItsScriptUses) {
  const std::string page = render_explanation(Told(kValley, "best-fit").explained());
  const std::vector<Match> uses = matches(page, R"re((?:byId|jump)\('([^']+)')re");
  for (const Match& use : uses) {
    EXPECT_NE(page.find("id=\"" + use[1] + "\""), page.npos) << use[1];
  }
  EXPECT_GT(uses.size(), 20u);
  for (const char* colour : {"chosen", "skyline", "wasted", "bad", "accent", "ink"}) {
    EXPECT_NE(page.find("--" + std::string(colour) + ": #"), page.npos) << colour;
  }
}

TEST(ExplanationPage, BeginsBeforeTheFirstStep) {
  const Told told(kValley, "best-fit-by-size");
  const std::string page = opened_in_browser(render_explanation(told.explained()));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* made :
       {"best-fit-by-size placed 4 blocks in 6 steps. The peak is 10 B, which is the lower bound",
        "<output id=\"position\">before step 1 of 6</output>", "At first, the skyline is one line",
        "<span id=\"rule\">the largest"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

TEST(ExplanationPage, OpensAtTheStepOfItsAddress) {
  const Told told(kValley, "best-fit-by-size");
  const std::string page = opened_in_browser(render_explanation(told.explained()), "2");
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  const std::string spoken = "<p id=\"sentence\" aria-live=\"polite\">";
  for (const std::string& made :
       {std::string("step 2 of 6</output>"), spoken + told.sentence(1),
        "<li aria-current=\"step\">" + told.sentence(1),
        std::string("2 unplaced blocks live within the line, best first."),
        std::string("<tr class=\"winner\"><td class=\"name\">right</td>"
                    "<td class=\"number\">[6, 10)</td><td class=\"number\">6 B</td></tr>"
                    "<tr><td class=\"name\">chip</td>")}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

// The test's script presses buttons and keys after the page's own script has run.
TEST(ExplanationPage, StepsByButtonsKeysAndSlider) {
  const Told told(kValley, "best-fit-by-size");
  std::string page = render_explanation(told.explained());
  const std::string test = R"(<script>
    const seen = [];
    const see = () => seen.push(document.getElementById('position').textContent);
    const press = (key) => {
      dispatchEvent(new KeyboardEvent('keydown', {key}));
      see();
    };
    for (const id of ['next', 'next', 'previous', 'last', 'first']) {
      document.getElementById(id).click();
      see();
    }
    ['ArrowRight', 'End', 'ArrowRight', 'ArrowLeft', 'Home', 'ArrowLeft', 'PageDown'].forEach(press);
    const slider = document.getElementById('slider');
    slider.value = '3';
    slider.dispatchEvent(new Event('input'));
    see();
    press(' ');
    see();
    document.body.dataset.seen = seen.map((text) => text.replace(/ of 6/, '')).join(';');
  </script></body>)";
  page.replace(page.rfind("</body>"), 7, test);
  const std::string opened = opened_in_browser(page);
  if (opened.empty()) GTEST_SKIP() << kNoBrowser;
  const std::size_t seen = opened.find("data-seen=");
  ASSERT_NE(seen, opened.npos);
  EXPECT_EQ(opened.substr(seen, opened.find('>', seen) - seen),
            "data-seen=\"step 1;step 2;step 1;step 6;before step 1;"           // buttons
            "step 1;step 6;step 6;step 5;before step 1;before step 1;step 6;"  // keys
            "step 3;step 4;step 4\"");                                         // slider, play
}

TEST(ExplanationPage, SaysThatGapsAreNotUsed) {
  Trace trace = kValley;
  trace.gaps = {{0, 1, 3}};
  const Told told(trace, "best-fit");
  EXPECT_EQ(told.story.steps.size(), Told(kValley, "best-fit").story.steps.size());
  const std::string page = opened_in_browser(render_explanation(told.explained()));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(page.find("It does not use the gaps in lifetimes (1)."), page.npos);
}

TEST(ExplanationPage, SaysThatAnEmptyTraceHasNoSteps) {
  const std::string page = opened_in_browser(render_explanation(Told({}, "best-fit").explained()));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(page.find("The trace has no blocks, so there is nothing to place."), page.npos);
  EXPECT_FALSE(matches(page, "<section id=\"play\"[^>]* hidden").empty());
}

}  // namespace
}  // namespace skyline
