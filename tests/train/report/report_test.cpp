#include "train/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "memory/errors.h"
#include "tests/train/parsed_json.h"
#include "tests/train/report/browser.h"
#include "tests/train/report/page_data.h"

namespace skyline {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

// Three blocks: an activation, a workspace above it, and later a gradient in the place of the
// workspace.
ReportData small_report() {
  ReportData data;
  data.title = "mlp on shapes";
  data.facts = {{"model", "mlp"}, {"batch size", "64"}};
  data.trace.blocks = {{0, 5, 4096}, {1, 2, 1000}, {3, 4, 1024}};
  data.trace.tags = {{"linear", "fc1", Phase::kForward, Category::kActivation},
                     {"linear", "fc1", Phase::kForward, Category::kWorkspace},
                     {"linear", "fc2", Phase::kBackward, Category::kGradient}};
  data.plan = {.offsets = {0, 4096, 4096},
               .peak = 5120,
               .lower_bound = 5120,
               .planner = "best-fit",
               .proved_optimal = true,
               .seconds = 0.25};
  data.curves = {{"best-fit-pool", {{0, 8192, 4096}, {3, 9216, 5120}}},
                 {"planned", {{0, 5120, 0}}}};
  data.resident_bytes = 512;
  data.comparison = {{.allocator = "best-fit-pool", .peak_reserved_bytes = 9216, .gap = 0.8},
                     {.allocator = "planned",
                      .peak_reserved_bytes = 9216,
                      .peak_reserved_after_switch_bytes = 5120,
                      .gap = 0.0}};
  const StepSeries losses = StepSeries::of(std::vector<double>{2.5, 1.25});
  data.losses = {{"best-fit-pool", losses}, {"planned", losses}};
  data.bit_equal = true;
  return data;
}

TEST(Report, HoldsTheWholeRun) {
  const json data = page_data(render_report(small_report()));
  const auto index_of = [&](const std::string& text) {
    const auto& all = data["strings"];
    return std::find(all.begin(), all.end(), text) - all.begin();
  };
  ASSERT_EQ(data["blocks"].size(), 3u);
  EXPECT_EQ(data["blocks"][2], json({3, 4, 1024, 4096, index_of("linear"), index_of("fc2"),
                                     static_cast<int>(Phase::kBackward),
                                     static_cast<int>(Category::kGradient), index_of("")}));
  EXPECT_EQ(data["phases"][static_cast<int>(Phase::kBackward)], "backward");
  EXPECT_EQ(data["categories"][static_cast<int>(Category::kGradient)], "gradient");
  EXPECT_EQ(data["plan"], json({{"planner", "best-fit"},
                                {"peak", 5120},
                                {"lowerBound", 5120},
                                {"gap", 0.0},
                                {"alignment", 512},
                                {"provedOptimal", true},
                                {"seconds", 0.25}}));
  EXPECT_EQ(data["curves"][0], json({{"name", "best-fit-pool"},
                                     {"ticks", {0, 3}},
                                     {"reserved", {8192, 9216}},
                                     {"live", {4096, 5120}}}));
  EXPECT_EQ(data["residentBytes"], 512);
  EXPECT_EQ(data["facts"], parsed_json(R"([["model","mlp"],["batch size","64"]])"));
  EXPECT_EQ(data["losses"][1],
            json({{"name", "planned"}, {"steps", 2}, {"per", 1}, {"mean", {2.5, 1.25}}}));
  EXPECT_EQ(data["bitEqual"], true);
  EXPECT_FALSE(data.contains("process"));
}

TEST(Report, ShowsTheProcessWithItsPeaks) {
  ReportData data = small_report();
  data.process = ProcessSummary{.process = {.resident_bytes = 700,
                                            .peak_resident_bytes = 900,
                                            .program_bytes = 200,
                                            .anonymous_bytes = 500,
                                            .heap_used_bytes = 90},
                                .reserved_bytes = 400,
                                .peak_reserved_bytes = 600,
                                .device_resident_bytes = 300,
                                .host_batch_bytes = 80};
  const json rows = page_data(render_report(data))["process"];
  EXPECT_EQ(rows[0], json({"reserved by the device", 400, 600}));
  EXPECT_EQ(rows[1], json({"resident set", 700, 900}));
  EXPECT_EQ(rows[2], json({"device memory", 300, nullptr}));
  EXPECT_EQ(rows[5], json({"host batches", 80, nullptr}));
  const json read = page_data(render_report(data));
  EXPECT_EQ(read["comparison"][1]["peakReservedBytes"], 9216);
  EXPECT_EQ(read["comparison"][1]["afterSwitchBytes"], 5120);
  EXPECT_TRUE(read["comparison"][0]["afterSwitchBytes"].is_null());
}

TEST(Report, KeepsWhatIsUnknownApartFromZero) {
  ReportData data = small_report();
  data.bit_equal.reset();
  data.losses[0].losses =
      StepSeries::of(std::vector<double>{std::nan(""), std::numeric_limits<double>::infinity(), 0});
  const json read = page_data(render_report(data));
  EXPECT_TRUE(read["bitEqual"].is_null());
  EXPECT_EQ(read["losses"][0]["mean"], json({nullptr, nullptr, 0.0}));
  const json& planned = read["comparison"][1];
  EXPECT_EQ(planned["gap"], 0.0);
  for (const char* key : {"residentBytes", "deviceAllocationsAfterSwitch", "callsPerStep",
                          "allocateNanoseconds", "stepSeconds"}) {
    ASSERT_TRUE(planned.contains(key)) << key;
    EXPECT_TRUE(planned[key].is_null()) << key;
  }
}

// Steps of varying lengths; one allocator runs out of memory half-way.
StepsChart steps_chart(std::size_t steps) {
  StepsChart chart{.lines = {{.name = "best-fit-pool"}, {.name = "planned"}},
                   .lengths = {{.name = "source"}, {.name = "target"}},
                   .lengths_name = "longest sentence, in words"};
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t length = 1 + step * 7919 % 50;
    chart.live_bytes.add(static_cast<double>(1024 * length));
    chart.lengths[0].values.add(static_cast<double>(length));
    chart.lengths[1].values.add(static_cast<double>(51 - length));
    chart.lines[1].reserved_bytes.add(step < 3 ? 40960 : 51200);
    chart.lines[1].replans.add(step == 3 || step == 40 ? 1 : 0);
    if (step >= steps / 2) continue;
    chart.lines[0].reserved_bytes.add(static_cast<double>(60000 + 100 * (step / 10)));
    chart.lines[0].replans.add(0);
  }
  return chart;
}

TEST(Report, HoldsTheStepsOfARun) {
  ReportData data = small_report();
  EXPECT_FALSE(page_data(render_report(data)).contains("steps"));
  data.steps = steps_chart(100);
  data.steps.first_step = 7;
  const json steps = page_data(render_report(data))["steps"];
  EXPECT_EQ(steps["first"], 7);
  EXPECT_EQ(steps["lengthsName"], "longest sentence, in words");
  EXPECT_EQ(steps["live"]["mean"].size(), 100u);
  EXPECT_FALSE(steps["live"].contains("most")) << "each point is one step";
  EXPECT_EQ(steps["lines"][0]["steps"], 50);
  EXPECT_EQ(steps["lines"][0]["at"], json({0, 10, 20, 30, 40}));
  EXPECT_EQ(steps["lines"][1], json({{"name", "planned"},
                                     {"steps", 100},
                                     {"per", 1},
                                     {"at", {0, 3}},
                                     {"least", {40960, 51200}},
                                     {"most", {40960, 51200}},
                                     {"replans", {{3, 1}, {40, 1}}}}));
  EXPECT_EQ(steps["lengths"][1]["mean"][0], 50);
}

TEST(Report, OfAMillionStepsIsNotLargerThanOfSomeThousand) {
  const auto page = [](std::size_t steps) {
    ReportData data = small_report();
    data.steps = steps_chart(steps);
    data.losses.resize(1);
    for (std::size_t step = 0; step < steps; ++step) {
      data.losses[0].losses.add(1 + 1 / static_cast<double>(step + 1));
    }
    return render_report(data);
  };
  const std::string large = page(1'000'000);
  EXPECT_LT(large.size(), 2 * page(8192).size());
  const json data = page_data(large);
  EXPECT_EQ(data["losses"][0]["per"], 256);
  EXPECT_EQ(data["losses"][0]["mean"].size(), (1'000'002 + 255) / 256);
  EXPECT_EQ(data["steps"]["live"]["most"][0], 1024 * 50) << "no peak is lost";
  EXPECT_EQ(data["steps"]["live"]["least"][0], 1024);
}

EvaluationCurves small_evaluations() {
  EvaluationCurves curves{.metrics = {{"top1", "test top-1", MetricKind::kShare},
                                      {"loss", "test", MetricKind::kLoss},
                                      {"bleu", "BLEU", MetricKind::kNumber}},
                          .steps = {}};
  curves.steps.add({.step = 1, .values = {0.25, 2, std::nan("")}});
  curves.steps.add({.step = 2, .values = {0.5, 1.75, 31.5}});
  return curves;
}

TEST(Report, HoldsTheEvaluationsOfARun) {
  ReportData data = small_report();
  EXPECT_FALSE(page_data(render_report(data)).contains("evaluations"));
  data.evaluations = small_evaluations();
  const json evaluations = page_data(render_report(data))["evaluations"];
  EXPECT_EQ(evaluations["steps"], json({1, 2}));
  EXPECT_EQ(evaluations["every"], 1);
  EXPECT_EQ(evaluations["metrics"][0],
            json({{"name", "test top-1"}, {"kind", "share"}, {"values", {0.25, 0.5}}}));
  EXPECT_EQ(evaluations["metrics"][2]["values"], json({nullptr, 31.5}));
}

// An op that is executed one place earlier saves 1024 of 4096 bytes.
OrderView small_order() {
  return {.algorithm = "optimal",
          .names = {"conv2d of conv1", "relu of act1", "sgd of conv1"},
          .before = {{0, 1, 2}, {1024, 4096, 512}},
          .after = {{0, 2, 1}, {1024, 512, 3072}},
          .lower_bound = 3072,
          .least_known = 3072,
          .sentence = "When op 1 (relu of act1) runs, these 1 values (2 KiB) must be there",
          .cut = {{2048, "op 0 (conv2d of conv1)", "this op"},
                  {1024, "this op: its outputs", "later ops"}}};
}

TEST(Report, HoldsTheOrderOfAStep) {
  ReportData data = small_report();
  EXPECT_FALSE(page_data(render_report(data)).contains("order"));
  data.order = small_order();
  const json order = page_data(render_report(data))["order"];
  EXPECT_EQ(order["program"], 4096);
  EXPECT_EQ(order["peak"], 3072);
  EXPECT_EQ(order["before"], json({{"order", {0, 1, 2}}, {"bytes", {1024, 4096, 512}}}));
  EXPECT_EQ(order["after"]["order"], json({0, 2, 1}));
  EXPECT_EQ(order["names"][2], "sgd of conv1");
  EXPECT_EQ(order["cut_rows"][1], json::array({1024, "this op: its outputs", "later ops"}));
}

TEST(Report, CarriesLargeNumbersExactly) {
  ReportData data = small_report();
  data.trace.blocks[0].bytes = (std::uint64_t{1} << 52) + 1;
  EXPECT_EQ(page_data(render_report(data))["blocks"][0][2], (std::uint64_t{1} << 52) + 1);
}

TEST(Report, NeedsNothingFromElsewhere) {
  const std::string page = render_report(small_report());
  for (const char* reach : {"src=", "href", "url(", "@import", "import(", "fetch(",
                            "XMLHttpRequest", "https:", "WebSocket"}) {
    EXPECT_THAT(page, Not(HasSubstr(reach)));
  }
  EXPECT_EQ(count_of(page, "http:"), 1u) << "the name of SVG's namespace, which is never fetched";
}

TEST(Report, LetsNoTextOfTheRunBecomeMarkup) {
  ReportData data = small_report();
  const std::string hostile = "</script><!-- <b>&amp; {{style}}";
  data.title = hostile;
  data.trace.tags[0].layer = hostile;
  data.facts[0].value = hostile;
  const std::string page = render_report(data);
  EXPECT_EQ(count_of(page, "</script"), count_of(render_report(small_report()), "</script"));
  EXPECT_THAT(page, HasSubstr("<h1>&lt;/script&gt;&lt;!-- &lt;b&gt;&amp;amp; {{style}}</h1>"));
  EXPECT_THAT(page_data_text(page), Not(HasSubstr("<")));
  EXPECT_EQ(page_data(page)["facts"][0][1], hostile);
}

TEST(Report, ShowsBytesThatAreNoTextAsReplacements) {
  ReportData data = small_report();
  data.trace.tags[0].op = "conv\xff";
  EXPECT_THAT(page_data_text(render_report(data)), HasSubstr("conv\xEF\xBF\xBD"));
}

TEST(Report, IsMadeOfAnEmptyRunToo) {
  const json data = page_data(render_report({}));
  for (const char* key : {"facts", "blocks", "curves", "comparison", "losses"}) {
    EXPECT_EQ(data[key], json::array()) << key;
  }
}

TEST(Report, RefusesAPlanOfAnotherTrace) {
  ReportData data = small_report();
  data.plan.offsets.pop_back();
  EXPECT_THAT([&] { render_report(data); },
              testing::ThrowsMessage<PlanMismatch>(
                  "[report] offsets of the plan, got 2, expected 3, one a block"));
}

// The script refers to elements by id and the style to categories by name.
TEST(ReportPage, HasEveryElementAndColourThatItsScriptUses) {
  const std::string page = render_report({});
  const std::regex by_id(R"re(byId\('([^']+)'\))re");
  std::size_t uses = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), by_id), end; it != end; ++it, ++uses) {
    EXPECT_THAT(page, HasSubstr("id=\"" + (*it)[1].str() + "\""));
  }
  EXPECT_GT(uses, 15u);
  for (int i = 0; i < kCategoryCount; ++i) {
    std::string name(category_name(static_cast<Category>(i)));
    std::replace(name.begin(), name.end(), ' ', '-');
    EXPECT_THAT(page, HasSubstr("  --" + name + ": #"));
  }
}

TEST(ReportPage, RunsInABrowser) {
  const std::string page = opened_in_browser(render_report(small_report()));
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  for (const char* made :
       {"<span>planned peak of the step</span><strong>5 KiB</strong>",
        "The plan takes 5 KiB from the device; best-fit-pool takes 9 KiB.",
        "Each of the <span id=\"block-count\">3</span> rectangles",
        "<span id=\"fullest-tick\">tick 1 (forward)</span>", "−4 KiB, −44.4 %",
        "<span id=\"loss-equality\">The place of a block must not change any result. All curves",
        "<span id=\"equality\">Losses and parameters were equal", "ticks 0 to 5 of 5"}) {
    EXPECT_NE(page.find(made), page.npos) << made;  // HasSubstr would print the whole page
  }
}

// The test's script takes the picture from the call that would open it in a new tab.
TEST(ReportPage, SavesThePlanAsSvg) {
  ReportData data = small_report();
  data.trace.tags[0].layer = "fc<1>&";
  std::string page = render_report(data);
  page.insert(page.find("</body>"), R"(<script>
    window.open = () => {};
    URL.createObjectURL = (blob) => {
      blob.text().then((text) => document.body.dataset.svg = `${blob.type} ${text}`);
    };
    setTimeout(() => document.getElementById('plan-svg').click(), 500);
  </script>)");
  page = opened_in_browser(page);
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  const std::size_t begin = page.find("data-svg=\"");
  ASSERT_NE(begin, page.npos);
  std::string svg = page.substr(begin, page.find('"', begin + 10) - begin);
  svg = std::regex_replace(svg, std::regex("&lt;"), "<");
  svg = std::regex_replace(svg, std::regex("&gt;"), ">");
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
    setTimeout(() => {
      const canvas = document.querySelector('#loss-chart canvas');
      const box = canvas.getBoundingClientRect();
      const clientX = box.left + box.width - 71, clientY = box.top + box.height / 2;
      canvas.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY}));
    }, 500);
  </script>)");
  page = opened_in_browser(page);
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  for (const char* made : {"Training loss of each step. Squares mark evaluations",
                           "</svg>training</span>", "</svg>test</span>", "<h3>test top-1</h3>",
                           "<h3>BLEU</h3>", "<th scope=\"row\">training</th><td>1.25</td>",
                           "<th scope=\"row\">test after step 2</th><td>1.75</td>"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
}

TEST(ReportPage, SaysWhatAPointOfALongRunStandsFor) {
  ReportData data = small_report();
  data.losses = {{"planned", StepSeries::of(std::vector<double>(100'000, 1.5))}};
  const std::string page = opened_in_browser(render_report(data));
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  EXPECT_NE(page.find("Training loss: each point is the mean of 32 steps."), page.npos);
}

TEST(ReportPage, ShowsAHundredThousandSteps) {
  ReportData data = small_report();
  data.steps = steps_chart(100000);
  std::string page = render_report(data);
  // Points at a third of the chart's width.
  page.insert(page.find("</body>"), R"(<script>
    setTimeout(() => {
      const canvas = document.querySelector('#steps-chart canvas');
      const box = canvas.getBoundingClientRect();
      const clientX = box.left + box.width / 3, clientY = box.top + box.height / 2;
      canvas.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY}));
    }, 500);
  </script>)");
  page = opened_in_browser(page);
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  const std::size_t tooltip = page.find("<div id=\"tooltip\"");
  EXPECT_TRUE(std::regex_search(
      page.substr(tooltip, 1000),
      std::regex(
          "<strong>Steps [23][0-9],[0-9]{3} to [23][0-9],[0-9]{3}</strong>.*best-fit-pool</th>"
          "<td>holds [23][0-9]{2} KiB.*planned</th><td>holds 50 KiB.*alive.*source.*target")))
      << page.substr(tooltip, 1000);
  for (const char* made :
       {"<output id=\"steps-range\">steps 1 to 100,000 of 100,000</output>",
        "Each point stands for 32 steps.", "Re-plans of planned: 2, of which 2 in the first tenth",
        "peak 547 KiB", "<span id=\"lengths-name\">longest sentence, in words</span>"}) {
    EXPECT_NE(page.find(made), page.npos) << made;
  }
  EXPECT_TRUE(std::regex_search(page, std::regex("id=\"lengths-chart\"[^>]*height: [0-9]+px")));
}

// Without a comparison, the page shows figures of the recorded step and says so.
TEST(ReportPage, SpeaksOfTheStepWithoutAComparison) {
  ReportData data = small_report();
  data.comparison.clear();
  const std::string page = opened_in_browser(render_report(data));
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  const char* made =
      "For the memory of one step, the plan takes 5 KiB from the device; best-fit-pool takes 9 "
      "KiB.";
  EXPECT_NE(page.find(made), page.npos);
}

// A peak above the lower bound can still be optimal.
TEST(ReportPage, TellsAProofBySearchFromTheLowerBound) {
  ReportData data = small_report();
  data.plan.lower_bound = 5000;
  data.plan.proved_bound = data.plan.peak;
  const std::string page = opened_in_browser(render_report(data));
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
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
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  expect_parts(
      page,
      {"<section id=\"order-section\" aria-labelledby=\"order-title\">",
       "The order of the ops (--order optimal) saves 1 KiB, 25.0 %: the step needs 4 KiB in the "
       "program’s sequence and 3 KiB as executed. No order needs less.",
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
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
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
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  expect_parts(page, {"as executed. Every order needs at least 2 KiB; the gap is 50.0 %.",
                      "Why no order needs less than 2 KiB", "Peak 3 KiB, 25.0 % less.</p>",
                      "The search proved the rest."});
  order.lower_bound = 3072;
  order.forward_as_written = true;
  order.least_known = 2560;
  expect_parts(opened_with(order),
               {"No order that runs the forward ops as written needs less. The best order found, "
                "which moves forward ops, too, needs 2.50 KiB, 512 B less.",
                "This holds for every order that runs the forward ops as written."});
}

TEST(ReportPage, HidesPartsWithoutData) {
  const std::string page = opened_in_browser(render_report({.title = "nothing"}));
  if (page.empty()) GTEST_SKIP() << "no chromium that runs here to open the page in";
  for (const char* id :
       {"step", "order-section", "comparison-section", "steps-section", "loss-section"}) {
    EXPECT_TRUE(
        std::regex_search(page, std::regex("<section id=\"" + std::string(id) + "\"[^>]* hidden")))
        << id;
  }
}

}  // namespace
}  // namespace skyline
