#include "train/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/errors.h"
#include "tests/train/parsed_json.h"
#include "tests/train/report/page_data.h"
#include "tests/train/report/small_report.h"

namespace skyline {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

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
                                {"lower_bound", 5120},
                                {"gap", 0.0},
                                {"alignment", 512},
                                {"proved_optimal", true},
                                {"seconds", 0.25}}));
  EXPECT_EQ(data["curves"][0], json({{"name", "best-fit-pool"},
                                     {"ticks", {0, 3}},
                                     {"reserved", {8192 + 512, 9216 + 512}},
                                     {"live", {4096, 5120}}}));
  EXPECT_EQ(data["resident_bytes"], 512);
  EXPECT_EQ(data["facts"], parsed_json(R"([["model","mlp"],["batch size","64"]])"));
  EXPECT_EQ(data["losses"][1],
            json({{"name", "planned"}, {"steps", 2}, {"per", 1}, {"mean", {2.5, 1.25}}}));
  EXPECT_EQ(data["bit_equal"], true);
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
  EXPECT_EQ(read["comparison"][1]["peak_reserved"], 9216);
  EXPECT_EQ(read["comparison"][1]["peak_reserved_after_switch"], 5120);
  EXPECT_TRUE(read["comparison"][0]["peak_reserved_after_switch"].is_null());
}

TEST(Report, KeepsWhatIsUnknownApartFromZero) {
  ReportData data = small_report();
  data.bit_equal.reset();
  data.losses[0].losses =
      StepSeries::of(std::vector<double>{std::nan(""), std::numeric_limits<double>::infinity(), 0});
  const json read = page_data(render_report(data));
  EXPECT_TRUE(read["bit_equal"].is_null());
  EXPECT_EQ(read["losses"][0]["mean"], json({nullptr, nullptr, 0.0}));
  const json& planned = read["comparison"][1];
  EXPECT_EQ(planned["gap_to_lower_bound"], 0.0);
  for (const char* key : {"resident_bytes", "device_allocations_after_switch", "calls_per_step",
                          "allocate_ns_median", "step_seconds_median"}) {
    ASSERT_TRUE(planned.contains(key)) << key;
    EXPECT_TRUE(planned[key].is_null()) << key;
  }
}

TEST(Report, HoldsTheStepsOfARun) {
  ReportData data = small_report();
  EXPECT_FALSE(page_data(render_report(data)).contains("steps"));
  data.steps = steps_chart(100);
  data.steps.first_step = 7;
  const json steps = page_data(render_report(data))["steps"];
  EXPECT_EQ(steps["first"], 7);
  EXPECT_EQ(steps["lengths_name"], "longest sentence, in words");
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
                            "XMLHttpRequest", "http:", "https:", "WebSocket"}) {
    EXPECT_THAT(page, Not(HasSubstr(reach)));
  }
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

}  // namespace
}  // namespace skyline
