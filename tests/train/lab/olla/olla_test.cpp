#include "train/lab/olla/olla.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

using testing::HasSubstr;

// Runs once for all tests.
const OllaReproduction& reproduction() {
  static const OllaReproduction done = reproduce_olla(1);
  return done;
}

const OllaRow& row_of(const std::string& network) {
  const auto& rows = reproduction().rows;
  return *std::ranges::find_if(
      rows, [&](const OllaRow& row) { return row.optimal.file.name == network; });
}

TEST(Olla, EveryNetworkIsOrderedWithProof) {
  ASSERT_EQ(reproduction().rows.size(), 18u);
  for (const OllaRow& row : reproduction().rows) {
    SCOPED_TRACE(row.optimal.file.name);
    const OrderResult& optimal = row.optimal;
    EXPECT_TRUE(optimal.answer.proved_optimal);
    EXPECT_TRUE(optimal.jointly_optimal());
    EXPECT_EQ(optimal.orders_placed, 1u);
    EXPECT_EQ(optimal.peak(), optimal.lower_bound());
    EXPECT_LE(optimal.peak(),
              std::min({optimal.program, optimal.early, row.inductor, row.xla, row.tensorflow}));
    EXPECT_EQ(std::ranges::max(optimal.program_bytes), optimal.program);
    EXPECT_EQ(std::ranges::max(optimal.bytes), optimal.peak());
    EXPECT_EQ(optimal.program_bytes.size(), optimal.answer.order.size());
  }
}

// OLLA's two gains, in bytes: order, and addresses without fragmentation.
TEST(Olla, PlacedOrdersSaveAgainstPyTorchsAllocator) {
  for (const OllaRow& row : reproduction().rows) {
    SCOPED_TRACE(row.optimal.file.name);
    EXPECT_EQ(row.optimal.placed, row.optimal.peak());
    EXPECT_GE(row.caching, row.optimal.program);
    EXPECT_NEAR(1 - row.both_saving(), (1 - row.fragmentation()) * (1 - row.order_saving()), 1e-9);
  }
  EXPECT_GE(reproduction().mean(&OllaRow::both_saving),
            reproduction().mean(&OllaRow::order_saving));
}

TEST(Olla, FigureThreeGoesFromSixtyToFortyFive) {
  const OrderResult& order = reproduction().figures.order;
  EXPECT_EQ(order.program, 60'000'000u);
  EXPECT_EQ(order.peak(), 45'000'000u);
  EXPECT_TRUE(order.jointly_optimal());
  EXPECT_THAT(olla_text(reproduction()),
              HasSubstr("\n\nfigure 3: 60 -> 45 MB by order, proved: no order needs less\n"));
}

// As requested: A at 0, B at 4096; A's 4096 bytes and 2048 above B are free, but C needs 6144.
TEST(Olla, FigureFourFitsByAPlanAlone) {
  const FragmentationFigure& figure = reproduction().figures.fragmentation;
  EXPECT_EQ(figure.capacity, 8192u);
  EXPECT_EQ(figure.as_requested.offsets, (std::vector<std::uint64_t>{0, 4096, 6144}));
  EXPECT_EQ(figure.as_requested.peak, 12288u);
  EXPECT_EQ(figure.refusal, "free memory is fragmented");
  EXPECT_EQ(figure.plan.offsets, (std::vector<std::uint64_t>{0, 6144, 0}));
  EXPECT_EQ(figure.plan.peak, 8192u);
  EXPECT_THAT(olla_text(reproduction()),
              HasSubstr("\nfigure 4: of 8 KiB, bfc refuses a request: free memory is fragmented; "
                        "a plan fits into 8 KiB\n"));
}

// The same figure as events: the allocator by itself refuses C.
TEST(Olla, FigureFoursEventsAreRefusedByBfc) {
  const std::string events =
      std::string(SKYLINE_SOURCE_DIR) + "/train/lab/olla/figures/figure-4-events.csv";
  const Outcome bfc =
      skyline_program({"replay", events, "--allocators", "bfc", "--capacity", "8192"});
  const std::string told = bfc.output + bfc.messages;
  EXPECT_THAT(told, HasSubstr("bfc refused 1 of the requests"));
  EXPECT_THAT(told, HasSubstr("out of memory (free memory is fragmented): requested 6144 bytes"));
}

TEST(Olla, AlexNetSavesMoreThanInThePaper) {
  const OllaRow& row = row_of("alexnet-32");
  ASSERT_TRUE(row.published.has_value());
  EXPECT_NEAR(row.published->before_gib * (1 << 30), static_cast<double>(row.optimal.program), 6e4)
      << "the same step as OLLA's, to the digits that it prints";
  EXPECT_NEAR(row.published->saving(), 0.149, 1e-3);
  EXPECT_EQ(row.optimal.peak(), 397102240u);
  EXPECT_NEAR(row.optimal.saving(), 0.342, 1e-3);
}

TEST(Olla, TextSaysWhereOrderGainsNothing) {
  const std::string text = olla_text(reproduction());
  EXPECT_THAT(text, HasSubstr("alexnet-32: OLLA (MODeL's README) 0.5618 -> 0.4783 GiB, 14.9 %; "
                              "ours 0.3698 GiB, 34.2 %\n"));
  EXPECT_THAT(text, HasSubstr("order gains less than 1 %: "));
  EXPECT_THAT(text, HasSubstr("resnet50-32, squeezenet1_0-32"));
  EXPECT_THAT(text, HasSubstr("alexnet-32: When op "));
}

TEST(Olla, CommandWritesTextJsonAndPage) {
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "olla").string();
  const Outcome outcome = skyline_program({"reproduce", "olla", "--json", "--output", output});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["paper"], "olla");
  ASSERT_EQ(json["rows"].size(), 18u);
  for (const char* key :
       {"ops", "program", "early", "late", "inductor", "xla", "tensorflow", "peak", "lower_bound",
        "placed", "caching", "fragmentation", "both_saving", "proved_optimal", "saving", "seconds",
        "published", "cut"}) {
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
  }
  for (const char* name : {"olla.txt", "olla.json", "olla.html"}) {
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(output) / name)) << name;
  }
  EXPECT_EQ(skyline_program({"reproduce", "olla", "--batch-sizes", "1"}).exit_code, 2);
}

TEST(Olla, PageShowsEveryNetworkAndTheCut) {
  const std::string page = olla_page(reproduction());
  EXPECT_THAT(page, HasSubstr("<title>OLLA's order and ours</title>"));
  const std::string opened = opened_in_browser(page);
  if (opened.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_THAT(opened, HasSubstr("18 of 18 steps are ordered with the least possible peak"));
  EXPECT_THAT(opened, HasSubstr("must be there"));
  EXPECT_THAT(opened, HasSubstr("needs 60 MB as written and 45 MB in the best order"));
  EXPECT_THAT(opened, HasSubstr("bfc refuses block C: free memory is fragmented"));
  EXPECT_THAT(opened, HasSubstr("aria-label=\"peak 12 KiB of 8 KiB\""));
  EXPECT_THAT(opened, HasSubstr("Memory Usage of Neural Networks"));
  for (const OllaRow& row : reproduction().rows) {
    EXPECT_THAT(opened, HasSubstr(row.optimal.file.name));
  }
}

}  // namespace
}  // namespace skyline
