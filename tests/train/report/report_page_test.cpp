// The report's page as a browser shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/train/patterns.h"
#include "tests/train/report/browser.h"
#include "tests/train/report/page_data.h"
#include "tests/train/report/small_report.h"
#include "train/ranks/leader_and_follower.h"
#include "train/report/report.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

// The script refers to elements by id and the style to categories by name.
TEST(ReportPage, HasEveryElementAndColourThatItsScriptUses) {
  const std::string page = render_report({});
  const std::vector<Match> uses = matches(page, R"re(byId\('([^']+)'\))re");
  for (const Match& use : uses) EXPECT_THAT(page, HasSubstr("id=\"" + use[1] + "\""));
  EXPECT_GT(uses.size(), 15u);
  for (int i = 0; i < kCategoryCount; ++i) {
    std::string name(category_name(static_cast<Category>(i)));
    std::replace(name.begin(), name.end(), ' ', '-');
    EXPECT_THAT(page, HasSubstr("  --" + name + ": #"));
  }
}

TEST(ReportPage, RunsInABrowser) {
  const std::string page = opened_in_browser(render_report(small_report()));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* made :
       {"<span>the plan takes</span><strong>5 KiB</strong>",
        "<span>lower bound</span><strong>5.5 KiB</strong>",
        "The plan takes 5 KiB from the device; best-fit-pool takes 9 KiB.",
        "Each of the <span id=\"block-count\">3</span> rectangles",
        "<span id=\"fullest-tick\">tick 1 (forward)</span>", "−4 KiB, −44.4 %",
        "<span id=\"loss-equality\">The place of a block must not change any result. All curves",
        "<span id=\"equality\">Losses and parameters were equal", "ticks 0 to 5 of 5"}) {
    EXPECT_NE(page.find(made), page.npos) << made;  // HasSubstr would print the whole page
  }
}

// The test's script takes the picture as it is made: the browser's clock does not wait for what
// reads a blob.
TEST(ReportPage, SavesThePlanAsSvg) {
  ReportData data = small_report();
  data.trace.tags[0].layer = "fc<1>&";
  std::string page = render_report(data);
  page.insert(page.find("</body>"), R"(<script>
    window.open = () => {};
    const Whole = Blob;
    window.Blob = class extends Whole {
      constructor(parts, options) {
        super(parts, options);
        document.body.dataset.svg = `${this.type} ${parts.join('')}`;
      }
    };
    setInterval(() => document.getElementById('plan-svg').click(), 500);
  </script>)");
  page = opened_in_browser(page, "", "data-svg=\"");
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  const std::size_t begin = page.find("data-svg=\"");
  ASSERT_NE(begin, page.npos);
  std::string svg = page.substr(begin, page.find('"', begin + 10) - begin);
  for (const auto& [name, sign] : {std::pair("&lt;", "<"), {"&gt;", ">"}}) {
    for (std::size_t at; (at = svg.find(name)) != svg.npos;) svg.replace(at, 4, sign);
  }
  EXPECT_THAT(svg, HasSubstr("image/svg+xml <svg xmlns=&quot;http://www.w3.org/2000/svg&quot;"));
  EXPECT_THAT(svg, HasSubstr("<title>The plan: blocks as rectangles over ticks and addresses"));
  EXPECT_EQ(count_of(svg, "<rect "), 4u) << "the ground and a rectangle for each block";
  EXPECT_THAT(svg, HasSubstr(">fc&amp;lt;1&amp;gt;&amp;amp; · linear</text>"));
  EXPECT_THAT(svg, HasSubstr(">peak = lower bound</text>"));
  EXPECT_EQ(count_of(svg, "<svg "), count_of(svg, "</svg>"));
}

TEST(ReportPage, ShowsEvaluationsBesideTheTraining) {
  ReportData data = small_report();
  data.losses.resize(1);
  data.evaluations = small_evaluations();
  std::string page = render_report(data);
  page.insert(page.find("</body>"), R"(<script>
    setInterval(() => {
      const canvas = document.querySelector('#loss-chart canvas');
      const box = canvas.getBoundingClientRect();
      const clientX = box.left + box.width - 71, clientY = box.top + box.height / 2;
      canvas.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY}));
    }, 200);
  </script>)");
  page = opened_in_browser(page);
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* made : {"Training loss of each step. Squares mark evaluations",
                           "</svg>training</span>", "</svg>test</span>", "<h3>test top-1</h3>",
                           "<h3>BLEU</h3>", "<th scope=\"row\">training</th><td>1.25</td>",
                           "<th scope=\"row\">test after step 2</th><td>1.75</td>"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

TEST(ReportPage, BeginsWithLearningWhereAskedFor) {
  const auto losses_after_step = [](const std::string& page) {
    return page.find("<section id=\"loss-section\"") > page.find("<section id=\"step\"");
  };
  const std::string page = render_report(small_report());
  const std::string memory = opened_in_browser(page);
  if (memory.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_TRUE(losses_after_step(memory));
  const std::string learning = opened_in_browser(page, "learning");
  EXPECT_FALSE(losses_after_step(learning));
  EXPECT_NE(learning.find("value=\"#learning\" aria-pressed=\"true\">"), learning.npos);
}

TEST(ReportPage, SaysWhatAPointOfALongRunStandsFor) {
  ReportData data = small_report();
  data.losses = {{"planned", StepSeries::of(std::vector<double>(100'000, 1.5))}};
  const std::string page = opened_in_browser(render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(page.find("Training loss: each point is the mean of 32 steps."), page.npos);
}

TEST(ReportPage, ShowsAHundredThousandSteps) {
  ReportData data = small_report();
  data.steps = steps_chart(100000);
  // Points at a third of the chart's width.
  const std::string page = opened_after(R"(() => {
      const canvas = document.querySelector('#steps-chart canvas');
      const box = canvas.getBoundingClientRect();
      const clientX = box.left + box.width / 3, clientY = box.top + box.height / 2;
      canvas.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY}));
      return document.querySelector('#tooltip strong');
    })",
                                        render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  const std::size_t tooltip = page.find("<div id=\"tooltip\"");
  EXPECT_FALSE(
      matches(page.substr(tooltip, 1000),
              "<strong>Steps [23][0-9],[0-9]{3} to [23][0-9],[0-9]{3}</strong>.*best-fit-pool</th>"
              "<td>holds [23][0-9]{2}(.[0-9])? KiB.*planned</th><td>holds 50 "
              "KiB.*alive.*source.*target")
          .empty())
      << page.substr(tooltip, 1000);
  for (const char* made :
       {"<output id=\"steps-range\">steps 1 to 100,000 of 100,000</output>",
        "Each point stands for 32 steps.", "Re-plans of planned: 2, of which 2 in the first tenth",
        "peak 546.8 KiB", "<span id=\"lengths-name\">longest sentence, in words</span>"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
  EXPECT_FALSE(matches(page, "id=\"lengths-chart\"[^>]*height: [0-9]+px").empty());
}

TEST(ReportPage, ShowsThePlanWithResidentMemoryIfNothingWasMeasured) {
  ReportData data = small_report();
  data.comparison.clear();
  const std::string page = opened_in_browser(render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(page.find("<span>the plan takes</span><strong>5.5 KiB</strong>"), page.npos);
}

// Walks to the second bucket's bar and selects it.
TEST(ReportPage, HasALaneOfSumsOverRanks) {
  ReportData data = small_report();
  data.story = small_story();
  const RankLane lane{.ranks = 2,
                      .sums = {{.block = 1, .gradients = 1, .bytes = 2048},
                               {.block = 2, .gradients = 3, .bytes = 1024}},
                      .sum_seconds = 0.5,
                      .wait_seconds = 0.125};
  data.parts.emplace_back("ranks", value_of(lane));
  const std::string page = opened_after(R"(() => {
      const canvas = document.querySelector('#ranks-chart canvas');
      for (const key of ['ArrowRight', 'ArrowRight', 'Enter'])
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key}));
      return document.getElementById('block-name').textContent.startsWith('Block 2');
    })",
                                        render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* made :
       {"<figure id=\"ranks-figure\">", "A step sums 2 buckets of gradients over 2 ranks.",
        "sums took 500 ms, of which steps waited 125 ms: ops hid 75.0 %.",
        "Bucket 2: gradients 3, bytes 1 KiB, begins tick 3, waited for before tick 4",
        "<h3 id=\"block-name\">Block 2: linear of fc2</h3>"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

// Selects the workspace by its row, then opens all rows.
TEST(ReportPage, TellsWhyTheSelectedBlockIsAlive) {
  ReportData data = small_report();
  data.trace.blocks[1].upper = 3;  // is there with the gradient of the story below
  data.story = small_story();
  const std::string first = opened_in_browser(render_report(data));
  if (first.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* made :
       {"<h3 id=\"block-name\">Block 0: linear of fc1</h3>", "it is there at the fullest tick.",
        "linear of fc1 requests it. It is kept for linear_grad of fc2, op 1, the last to use it.",
        "It has a place of its own: input 0 is &lt;resident&gt;.",
        "<td class=\"\">If it were not needed at all</td><td class=\"number\">1.5 KiB</td>",
        "<td class=\"\">reads it</td><td class=\"number\">0</td>", "peak 6 KiB",
        "So this step takes <strong id=\"box-total\">5 KiB</strong>",
        "<li>Requests 4 KiB: the box is empty, so its region is new.</li>"}) {
    EXPECT_NE(first.find(made), first.npos) << made;
  }
  const std::string second = opened_after(R"(() => {
      document.querySelectorAll('#fullest button')[1].click();
      return document.getElementById('block-name').textContent.startsWith('Block 1');
    })",
                                          render_report(data));
  EXPECT_NE(second.find("Block 1: linear of fc1"), second.npos);
  EXPECT_NE(second.find("A workspace takes no value’s place."), second.npos);
}

// The gradient takes the region of the workspace, which is too small for it.
TEST(ReportPage, GrowsARegionOfTheBox) {
  ReportData data = small_report();
  data.trace.blocks[2].bytes = 3000;
  data.story = small_story();
  data.story->box.peak = 7168;
  const std::string page = opened_after(R"(() => {
      document.getElementById('box-next').click();
      return document.getElementById('box-op').textContent.startsWith('Op 1 of 1');
    })",
                                        render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* made :
       {"<strong id=\"box-total\">7 KiB</strong>",
        "<li>Requests 3 KiB: the largest region of the box grows from 1 KiB.</li>",
        "<li>Puts the region of block 0, 4 KiB, into the box.</li>",
        "<p id=\"box-so-far\">Regions so far: 7 KiB.</p>"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

// Walks to the third block of the plan, the gradient, and selects it.
TEST(ReportPage, SelectsABlockByKeyboard) {
  ReportData data = small_report();
  data.story = small_story();
  const std::string page = opened_after(R"(() => {
      const canvas = document.querySelector('#plan-chart canvas');
      for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter'])
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key}));
      return document.getElementById('block-name').textContent.startsWith('Block 2');
    })",
                                        render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(page.find("<h3 id=\"block-name\">Block 2: linear of fc2</h3>"), page.npos);
  EXPECT_NE(page.find("<div id=\"fullest\" class=\"table-scroll\" tabindex=\"0\""), page.npos)
      << "tables scroll by keyboard";
}

// Two activations more than the table shows at first.
TEST(ReportPage, ShowsAllBlocksOfTheFullestTickWhenAsked) {
  ReportData data = small_report();
  for (std::uint64_t i = 0; i < 8; ++i) {
    data.trace.blocks.push_back({1, 2, 512});
    data.trace.tags.push_back(data.trace.tags[0]);
    data.plan.offsets.push_back(8192 + 512 * i);
  }
  const std::string page = render_report(data);
  const std::string folded = opened_in_browser(page);
  if (folded.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(folded.find("2 more blocks"), folded.npos);
  EXPECT_NE(folded.find("Show all 10"), folded.npos);
  const std::string open = opened_after(R"(() => {
      document.querySelector('#fullest > button').click();
      return document.querySelectorAll('#fullest button.link').length === 10;
    })",
                                        page);
  EXPECT_EQ(open.find("2 more blocks"), open.npos);
  EXPECT_EQ(count_of(open, "<button type=\"button\" class=\"link\">"), 10u);
}

TEST(ReportPage, TellsAProofBySearchFromTheLowerBound) {
  ReportData data = small_report();
  data.plan.lower_bound = 5000;
  data.plan.proved_bound = data.plan.peak;
  const std::string page = opened_in_browser(render_report(data));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_NE(page.find("above the lower bound; a search proved that no better plan exists."),
            page.npos);
}

// The page of a report with this order, after its script ran; empty if no browser runs here.
std::string opened_with(OrderView order) {
  ReportData data = small_report();
  data.order = std::move(order);
  return opened_in_browser(render_report(data));
}

void expect_parts(const std::string& page, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(page.find(part), page.npos) << part;
}

TEST(ReportPage, ShowsBothOrdersOfTheStepAndTheCut) {
  const std::string page = opened_with(small_order());
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  expect_parts(
      page,
      {"<section id=\"order-section\" aria-labelledby=\"order-title\">",
       "The order of the ops (--order optimal) saves 1 KiB, 25.0 %: the step needs 4 KiB in the "
       "program’s sequence and 3 KiB as executed. No order needs less. Forward ops run as written; "
       "the best order found that moves them, too, saves nothing more.",
       "<div id=\"order-pictures\">", "<p id=\"order-before-reading\">Peak 4 KiB.</p>",
       "Peak 3 KiB, 25.0 % less; proved: no order peaks lower.", "2 of 3 ops run at another place.",
       "op 1 (relu of act1)</td><td class=\"number\">2</td>", "1 earlier", "Why less is impossible",
       "these 1 values (2 KiB) must be there.",
       "<td class=\"number\">2 KiB</td><td class=\"\">op 0 (conv2d of conv1)</td>"});
}

TEST(ReportPage, SaysInOneSentenceThatAnOrderSavesNothing) {
  OrderView order = small_order();
  order.after = order.before;
  order.lower_bound = order.least_known = order.peak();
  std::string page = opened_with(order);
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  expect_parts(page, {"saves nothing: this step needs 4 KiB in the program’s sequence and as "
                      "executed. No order needs less.",
                      "<div id=\"order-pictures\" hidden=\"\">", "Why less is impossible"});
  order.algorithm = "program";
  order.lower_bound = order.least_known = 3072;
  expect_parts(opened_with(order),
               {"The ops ran in the program’s sequence (--order program) and need at most 4 KiB. "
                "The best order found needs 3 KiB, 1 KiB less. No order needs less than that.",
                "<div id=\"order-pictures\" hidden=\"\">"});
}

TEST(ReportPage, ShowsBoundAndGapOfAnOrderThatIsNotProved) {
  OrderView order = small_order();
  order.lower_bound = 2048;
  order.bound_by_search = true;
  std::string page = opened_with(order);
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  expect_parts(page, {"as executed. Every order needs at least 2 KiB; the gap is 50.0 %.",
                      "Why no order needs less than 2 KiB", "Peak 3 KiB, 25.0 % less.</p>",
                      "The search proved the rest."});
  order.lower_bound = 3072;
  order.forward_as_written = true;
  order.least_known = 2560;
  expect_parts(opened_with(order),
               {"No order that runs the forward ops as written needs less. The best order found, "
                "which moves forward ops, too, needs 2.5 KiB, 512 B less.",
                "This holds for every order that runs the forward ops as written."});
}

TEST(ReportPage, HidesPartsWithoutData) {
  const std::string page = opened_in_browser(render_report({.title = "nothing"}));
  if (page.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* id :
       {"step", "order-section", "comparison-section", "steps-section", "loss-section"}) {
    EXPECT_FALSE(matches(page, "<section id=\"" + std::string(id) + "\"[^>]* hidden").empty())
        << id;
  }
  EXPECT_NE(page.find("<figure id=\"ranks-figure\" hidden"), page.npos);
}

}  // namespace
}  // namespace skyline
