#include "train/report/plan_picture.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "memory/errors.h"
#include "memory/planners/planner.h"
#include "tests/memory/planners/random_traces.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

// Every element is closed in order, attributes are quoted, and no markup stands in the text.
// A checker of the little XML that the pictures use.
testing::AssertionResult is_well_formed(const std::string& xml) {
  static const std::regex tag(R"re(<(/?)([a-z]+)((?: [a-zA-Z0-9:-]+="[^"<]*")*)(/?)>)re");
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = xml.find('<', at)) != xml.npos;) {
    std::smatch match;
    if (!std::regex_search(xml.begin() + static_cast<std::ptrdiff_t>(at), xml.end(), match, tag,
                           std::regex_constants::match_continuous)) {
      return testing::AssertionFailure() << "no tag at " << xml.substr(at, 60);
    }
    if (match[1].length() > 0) {
      if (open.empty() || open.back() != match[2]) {
        return testing::AssertionFailure() << "closes what is not open: " << match.str();
      }
      open.pop_back();
    } else if (match[4].length() == 0) {
      open.push_back(match[2]);
    }
    at += static_cast<std::size_t>(match.length());
  }
  static const std::regex stray("&(?!amp;|lt;|gt;)");
  if (std::regex_search(xml, stray)) return testing::AssertionFailure() << "a stray ampersand";
  if (!open.empty()) return testing::AssertionFailure() << open.back() << " is not closed";
  return testing::AssertionSuccess();
}

// Four columns of ticks and two rows of bytes; the right block has a gap in which none lies.
const Trace kTrace{.blocks = {{0, 8, 512}, {0, 4, 1024}, {4, 8, 512}},
                   .ids = {"a", "b<&>", "c"},
                   .gaps = {{0, 2, 4}, {0, 6, 8}}};
const Plan kPlan{.offsets = {0, 512, 1024},
                 .peak = 1536,
                 .lower_bound = 1536,
                 .proved_bound = 1536,
                 .planner = "by hand",
                 .proved_optimal = true};

TEST(PlanPicture, DrawsEachBlockOnce) {
  const std::string svg = plan_picture(kTrace, kPlan, "t<r>&ace");
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(count_of(svg, "<title>"), 1 + 3u);
  EXPECT_THAT(svg, HasSubstr("<title>a\nticks [0, 8), not in [2, 4), not in [6, 8)\n512 bytes (512 "
                             "B) at 0 (0 B)</title></path>"));
  EXPECT_THAT(svg, HasSubstr("<title>b&lt;&amp;&gt;\nticks [0, 4)\n1024 bytes (1 KiB) at 512 (512 "
                             "B)</title></rect>"));
  EXPECT_THAT(svg, HasSubstr("<text class=\"name\" x=\"86\" y=\"30\">t&lt;r&gt;&amp;ace</text>"));
  EXPECT_THAT(svg, HasSubstr("3 blocks · peak 1.5 KiB · lower bound 1.5 KiB · gap 0 %, proved "
                             "optimal · by hand</text>"));
}

// The plot reaches from x = 86 to 1060 and from y = 640 up; the peak lies at 100 / 102 of it.
TEST(PlanPicture, PutsBlocksWhereTheyAre) {
  const std::string svg = plan_picture(kTrace, kPlan, "trace");
  const double pixels = (640 - 72) / (1.02 * 1536);
  const auto rectangle = [&](double x, double width, double offset, double bytes) {
    return fmt::format("x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\">", x,
                       640 - (offset + bytes) * pixels, width, bytes * pixels);
  };
  EXPECT_THAT(svg, HasSubstr(rectangle(86, 487, 512, 1024)));
  EXPECT_THAT(svg, HasSubstr(rectangle(86 + 487, 487, 1024, 512)));
  const double top = 640 - 512 * pixels, tall = 512 * pixels;
  EXPECT_THAT(svg, HasSubstr(fmt::format("d=\"M86 {0:.6g}h243.5v{1:.6g}h-243.5zM573 "
                                         "{0:.6g}h243.5v{1:.6g}h-243.5z\"",
                                         top, tall)));
}

TEST(PlanPicture, NamesPeakAndBounds) {
  EXPECT_THAT(plan_picture(kTrace, kPlan, ""), HasSubstr(">peak = lower bound</text>"));
  Plan high = kPlan;
  high.offsets = {0, 1024, 2048};
  high.peak = 2560;
  high.proved_bound = 2048;
  high.proved_optimal = false;
  const std::string svg = plan_picture(kTrace, high, "");
  EXPECT_TRUE(is_well_formed(svg));
  for (const char* level : {">peak</text>", ">proved bound</text>", ">lower bound</text>"}) {
    EXPECT_THAT(svg, HasSubstr(level));
  }
  EXPECT_THAT(svg, HasSubstr("gap 66.7 % · by hand"));
}

TEST(PlanPicture, ColoursByCategoryOrElseBySize) {
  Trace tagged = kTrace;
  tagged.tags = {{"relu", "conv1", Phase::kForward, Category::kActivation},
                 {"conv2d", "", Phase::kForward, Category::kWorkspace},
                 {"", "", Phase::kBackward, Category::kActivation}};
  const std::string svg = plan_picture(tagged, kPlan, "");
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(count_of(svg, "<g class=\"k1\">"), 1u);
  EXPECT_EQ(count_of(svg, "<g class=\"k3\">"), 1u);
  EXPECT_EQ(count_of(svg, "<g class="), 2u);
  EXPECT_THAT(svg, HasSubstr(">activation</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>a · conv1 · relu (activation)\n"));
  const std::string plain = plan_picture(kTrace, kPlan, "");
  EXPECT_THAT(plain, HasSubstr("<g class=\"s0\">"));
  EXPECT_THAT(plain, HasSubstr("<g class=\"s5\">"));
  EXPECT_THAT(plain, HasSubstr(">1 KiB</text>"));
}

TEST(PlanPicture, IsWellFormedWhateverTheTrace) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Trace trace =
        random_trace(seed, 1 + seed * 7, 1 + static_cast<Tick>(seed * 40), 1 << seed);
    const std::string svg = plan_picture(trace, plan(trace, "best-fit", {.alignment = 1}), "t");
    ASSERT_TRUE(is_well_formed(svg)) << "seed " << seed;
    ASSERT_EQ(count_of(svg, "</title></rect>"), trace.size()) << "seed " << seed;
    ASSERT_THAT(svg, Not(HasSubstr("nan")));
    ASSERT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(PlanPicture, OmitsOutlinesAndLabelsOfTinyBlocks) {
  const std::string few = plan_picture(kTrace, kPlan, "");
  EXPECT_EQ(count_of(few, "class=\"outlined\""), 3u);
  EXPECT_EQ(count_of(few, "class=\"label"), 2u);
  const Trace many = training_trace(3, 4000, 1 << 20);
  const std::string svg = plan_picture(many, plan(many, "best-fit"), "");
  EXPECT_LT(count_of(svg, "class=\"outlined\""), 200u);
  EXPECT_LT(svg.size(), many.size() * 250);
}

TEST(PlanPicture, HandlesExtremes) {
  EXPECT_TRUE(is_well_formed(plan_picture({}, {}, "none")));
  EXPECT_THAT(plan_picture({}, {}, ""), HasSubstr("an empty plan: nothing is requested"));
  EXPECT_THROW(plan_picture(kTrace, Plan{}, ""), PlanMismatch);
  const Trace huge{.blocks = std::vector<TraceBlock>(kMostPictureBlocks + 1, {0, 1, 1})};
  EXPECT_THROW(plan_picture(huge, {.offsets = std::vector<std::uint64_t>(huge.size())}, ""),
               std::invalid_argument);
  for (const TraceBlock& block : {TraceBlock{INT64_MIN, INT64_MAX, INT64_MAX},
                                  {INT64_MAX - 1, INT64_MAX, 1},
                                  {INT64_MIN, INT64_MIN + 1, 0}}) {
    const Trace dot{.blocks = {block}, .ids = {"\x01\xff\t"}};
    const std::string svg = plan_picture(dot, plan(dot, "best-fit", {.alignment = 1}), "dot");
    EXPECT_TRUE(is_well_formed(svg));
    EXPECT_THAT(svg, HasSubstr("x=\"86\" y="));
    EXPECT_THAT(svg, HasSubstr("<title> \xEF\xBF\xBD \n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
}

}  // namespace
}  // namespace skyline
