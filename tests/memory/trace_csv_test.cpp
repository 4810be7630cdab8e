#include "memory/trace_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/csv.h"
#include "memory/errors.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;

const std::string kNumbers = "expected a whole number from 0 to 9223372036854775807";

CsvTrace trace_of(const std::string& text) {
  std::istringstream in(text);
  return read_trace_csv(in, "trace.csv");
}
CsvPlan plan_of(const std::string& text) {
  std::istringstream in(text);
  return read_plan_csv(in, "plan.csv");
}
std::string text_of(const Trace& trace, std::uint64_t alignment = 1) {
  std::ostringstream out;
  write_trace_csv(out, trace, alignment);
  return out.str();
}
// The sentence with which a text is refused.
std::string refusal(const std::string& text) {
  try {
    trace_of(text);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReadTraceCsv, ReadsMiniMallocsFormat) {
  const CsvTrace csv = trace_of("id,lower,upper,size\nb1,0,3,4\nb2,3,9,5\n");
  EXPECT_EQ(csv.trace.blocks, (std::vector<TraceBlock>{{0, 3, 4}, {3, 9, 5}}));
  EXPECT_EQ(csv.trace.ids, (std::vector<std::string>{"b1", "b2"}));
  EXPECT_TRUE(csv.trace.tags.empty());
  EXPECT_EQ(csv.alignment, 1u);
}

TEST(ReadTraceCsv, AcceptsColumnsInAnyOrderAndIgnoresUnknownOnes) {
  const CsvTrace csv =
      trace_of(" size , hint,upper,alignment,id,lower\n5,x,9,64,a,2\n0,,4,128,b,3\n");
  EXPECT_EQ(csv.trace.blocks, (std::vector<TraceBlock>{{2, 9, 5}, {3, 4, 0}}));
  EXPECT_EQ(csv.alignment, 128u) << "the largest";
}

TEST(ReadTraceCsv, AcceptsEveryWayToEndLines) {
  const Trace expected = trace_of("id,lower,upper,size\na,0,1,2\n").trace;
  for (const char* text :
       {"\xef\xbb\xbfid,lower,upper,size\na,0,1,2\n", "id,lower,upper,size\r\na,0,1,2\r\n",
        "id,lower,upper,size\na,0,1,2", "id,lower,upper,size\r\na,0,1,2\r",
        "\n\r\nid,lower,upper,size\n\n\na,0,1,2\n\r\n\n", "id,lower,upper,size\na, 0 ,\t1,2 \n",
        "\"id\",lower,\"upper\",size\n\"a\",\"0\",1,2\n"}) {
    EXPECT_EQ(trace_of(text).trace.blocks, expected.blocks) << text;
    EXPECT_EQ(trace_of(text).trace.ids, expected.ids) << text;
  }
}

TEST(ReadTraceCsv, AcceptsATraceWithoutBlocks) {
  EXPECT_EQ(trace_of("id,lower,upper,size\n").trace.size(), 0u);
}

TEST(ReadTraceCsv, KeepsIdsOnlyWhereTheyDifferFromTheNumber) {
  EXPECT_TRUE(trace_of("id,lower,upper,size\n0,0,1,1\n1,0,1,1\n").trace.ids.empty());
  const Trace trace = trace_of("id,lower,upper,size\n0,0,1,1\n7,0,1,1\n").trace;
  EXPECT_EQ(trace.ids, (std::vector<std::string>{"0", "7"}));
}

TEST(ReadTraceCsv, NamesSourceLineAndField) {
  const std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(refusal(header + "a,0,1,2\nb,0,1,x\n"),
            "trace.csv line 3, field size: got \"x\", " + kNumbers);
  EXPECT_EQ(refusal("\n" + header + "\na,-1,1,2"),
            "trace.csv line 4, field lower: got \"-1\", " + kNumbers);
  for (const char* number : {"", "1.5", "0x10", "1e3", "+1", "9223372036854775808", "1 2", "1_000",
                             "99999999999999999999999999"}) {
    EXPECT_EQ(refusal(header + "a,0," + number + ",2\n"),
              std::string("trace.csv line 2, field upper: got \"") + number + "\", " + kNumbers);
  }
  EXPECT_EQ(refusal(header + ",0,1,2\n"), "trace.csv line 2, field id: got \"\", expected a name");
}

TEST(ReadTraceCsv, RefusesEmptyAndInvertedLifetimes) {
  EXPECT_EQ(refusal("id,lower,upper,size\na,4,4,1\n"),
            "trace.csv line 2, field upper: got the empty lifetime [4, 4), expected lower < upper");
  EXPECT_EQ(
      refusal("id,lower,upper,size\na,5,4,1\n"),
      "trace.csv line 2, field upper: got the inverted lifetime [5, 4), expected lower < upper");
}

TEST(ReadTraceCsv, RefusesDuplicateIds) {
  EXPECT_EQ(refusal("id,lower,upper,size\na,0,1,1\nb,0,1,1\na,0,1,1\n"),
            "trace.csv line 4, field id: got \"a\" a second time, expected ids that differ");
  EXPECT_THAT(refusal("id,lower,upper,size\n0,0,1,1\n1,0,1,1\n1,0,1,1\n"),
              HasSubstr("line 4, field id: got \"1\" a second time"));
}

TEST(ReadTraceCsv, RefusesBadHeaders) {
  EXPECT_EQ(refusal(""),
            "trace.csv: got no text, expected a header line with the columns id,lower,upper,size");
  EXPECT_EQ(refusal("\n\n"), refusal(""));
  EXPECT_EQ(refusal("0,45,247,589825\n"),
            "trace.csv line 1: got \"0,45,247,589825\", expected a header line with the columns "
            "id,lower,upper,size");
  EXPECT_EQ(refusal("id,lower,size\na,0,1\n"),
            "trace.csv line 1: there is no column \"upper\" among id,lower,size");
  EXPECT_EQ(refusal("id,lower,upper,size,id\n"),
            "trace.csv line 1, field id: the header names this column twice");
}

TEST(ReadTraceCsv, RefusesBadRecords) {
  const std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(refusal(header + "a,0,1\n"),
            "trace.csv line 2: got 3 fields, expected 4 as in the header");
  EXPECT_THAT(refusal(header + "a,0,1,2,\n"), HasSubstr("got 5 fields, expected 4"));
  EXPECT_EQ(refusal(header + "\"a,0,1,2\n"), "trace.csv line 2: a quoted field is not closed");
  EXPECT_EQ(refusal(header + "\"a\"b,0,1,2\n"),
            "trace.csv line 2: text follows the closing quote of a field");
  EXPECT_EQ(refusal(header + "\"a\nb\",0,1,2\nc,0,1,x\n"),
            "trace.csv line 4, field size: got \"x\", " + kNumbers)
      << "a line end inside quotes counts as a line";
}

TEST(ReadTraceCsv, RefusesUnknownPhasesAndCategories) {
  const std::string header = "id,lower,upper,size,phase,category\n";
  EXPECT_EQ(refusal(header + "a,0,1,2,sideways,input\n"),
            "trace.csv line 2, field phase: got \"sideways\", expected one of outside, forward, "
            "backward, update");
  EXPECT_THAT(refusal(header + "a,0,1,2,forward,soup\n"),
              HasSubstr("field category: got \"soup\", expected one of input, activation"));
  EXPECT_THAT(refusal("id,lower,upper,size,alignment\na,0,1,2,0\n"),
              HasSubstr("field alignment: got \"0\", expected a whole number from 1 to"));
}

TEST(ReadTraceCsv, ShortensWhatItQuotes) {
  const std::string message =
      refusal("id,lower,upper,size\na,0,1," + std::string(5000, 'x') + "\n");
  EXPECT_LT(message.size(), 250u);
  EXPECT_THAT(refusal("id,lower,upper,size\na,0,1,\"x\ny\"\n"), HasSubstr("got \"x?y\""));
}

TEST(TraceCsv, RoundTripsTagsAndQuoting) {
  Trace trace{.blocks = {{0, 3, 4}, {3, 9, 0}, {1, 2, 77}}, .ids = {"a,b", "say \"hi\"", " c\n"}};
  trace.tags = {{"conv2d", "conv1", Phase::kForward, Category::kActivation},
                {"a, \"b\"\r\nc", " ", Phase::kBackward, Category::kParameterGradient},
                {"", "", Phase::kOutside, Category::kUnknown}};
  const CsvTrace back = trace_of(text_of(trace, 512));
  EXPECT_EQ(back.trace.blocks, trace.blocks);
  EXPECT_EQ(back.trace.ids, trace.ids);
  EXPECT_EQ(back.trace.tags, trace.tags);
  EXPECT_EQ(back.alignment, 512u);
}

TEST(TraceCsv, RoundTripsEveryPhaseAndCategory) {
  Trace trace;
  for (int i = 0; i < kCategoryCount; ++i) {
    trace.blocks.push_back({i, i + 1, 1});
    trace.tags.push_back({"op", "layer", static_cast<Phase>(i % 4), static_cast<Category>(i)});
  }
  EXPECT_EQ(trace_of(text_of(trace)).trace.tags, trace.tags);
}

TEST(TraceCsv, WritesPlainTracesAsMiniMallocDoes) {
  EXPECT_EQ(text_of({.blocks = {{0, 3, 4}, {3, 9, 5}}}), "id,lower,upper,size\n0,0,3,4\n1,3,9,5\n");
}

TEST(TraceCsv, RoundTripsRandomTraces) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Trace trace = random_trace(seed, seed % 50, 100, ~0ull >> 2);
    ASSERT_TRUE(trace_of(text_of(trace)).trace.same_requests(trace)) << "seed " << seed;
  }
}

TEST(PlanCsv, RoundTripsAPlan) {
  const Trace trace = training_trace(1, 20, 5000);
  Plan plan{.alignment = 512, .planner = "by hand"};
  std::uint64_t end = 0;
  for (const TraceBlock& block : trace.blocks) {
    plan.offsets.push_back(end);
    end += rounded(block.bytes, 512);
  }
  std::ostringstream out;
  write_plan_csv(out, trace, plan);
  const CsvPlan back = plan_of(out.str());
  EXPECT_TRUE(back.trace.same_requests(trace));
  EXPECT_EQ(back.plan.offsets, plan.offsets);
  EXPECT_EQ(back.plan.alignment, 512u);
  EXPECT_EQ(back.plan.peak, end);
  EXPECT_EQ(back.plan.lower_bound, lower_bound_bytes(trace, 512));
  EXPECT_TRUE(validate(trace, back.plan).valid);
}

TEST(PlanCsv, RefusesMissingAndImpossibleOffsets) {
  EXPECT_THROW(plan_of("id,lower,upper,size\na,0,1,2\n"), TraceError);
  EXPECT_THROW(plan_of("id,lower,upper,size,offset\na,0,1,2,\n"), TraceError);
  EXPECT_THROW(plan_of("id,lower,upper,size,offset\na,0,1,2,9223372036854775806\n"), TraceError);
  EXPECT_EQ(plan_of("id,lower,upper,size,offset\na,0,1,2,9223372036854775805\n").plan.peak,
            9223372036854775807u);
  std::ostringstream out;
  EXPECT_THROW(write_plan_csv(out, {.blocks = {{0, 1, 2}}}, Plan{}), PlanMismatch);
}

TEST(MatchPlan, PutsOffsetsInTheOrderOfTheTrace) {
  const Trace trace{.blocks = {{0, 3, 4}, {3, 9, 5}}, .ids = {"a", "b"}};
  const CsvPlan csv = plan_of("id,lower,upper,size,offset\nb,3,9,5,8\na,0,3,4,0\n");
  const Plan plan = match_plan(csv, trace, 8);
  EXPECT_EQ(plan.offsets, (std::vector<std::uint64_t>{0, 8}));
  EXPECT_EQ(plan.peak, 16u);
  EXPECT_EQ(plan.alignment, 8u);
}

TEST(MatchPlan, NamesTheBlockThatDiffers) {
  const CsvPlan csv = plan_of("id,lower,upper,size,offset\na,0,3,4,0\nb,3,9,5,8\n");
  const auto mismatch = [&csv](const Trace& trace) -> std::string {
    try {
      match_plan(csv, trace, 1);
    } catch (const PlanMismatch& error) {
      return error.what();
    }
    return "matched";
  };
  EXPECT_EQ(mismatch({.blocks = {{0, 3, 4}, {3, 9, 5}, {0, 1, 1}}, .ids = {"a", "b", "c"}}),
            "the plan has no offset for block c");
  EXPECT_EQ(mismatch({.blocks = {{0, 3, 4}}, .ids = {"a"}}),
            "block b of the plan is not in the trace");
  EXPECT_EQ(
      mismatch({.blocks = {{0, 3, 4}, {3, 8, 5}}, .ids = {"a", "b"}}),
      "block b is alive [3, 8) with 5 bytes in the trace, but alive [3, 9) with 5 bytes in the "
      "plan");
}

TEST(CsvField, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_field("conv1.relu"), "conv1.relu");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("\""), "\"\"\"\"");
}

}  // namespace
}  // namespace skyline
