#include "memory/formats/csv/trace_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "memory/errors.h"
#include "memory/formats/csv/csv_reader.h"
#include "tests/memory/failing_buffer.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;

const std::string kNumbers = "expected a whole number from 0 to 9223372036854775807";

Trace csv_trace(const std::string& text) {
  std::istringstream in(text);
  return read_trace_csv(in, "trace.csv");
}
std::string text_of(const Trace& trace, std::uint64_t alignment = 1) {
  std::ostringstream out;
  write_trace_csv(out, trace, alignment);
  return out.str();
}
// Returns the message with which a text is refused.
std::string trace_refusal(const std::string& text) {
  try {
    csv_trace(text);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReadTraceCsv, ReadsMiniMallocsFormat) {
  const Trace trace = csv_trace("id,lower,upper,size\nb1,0,3,4\nb2,3,9,5\n");
  EXPECT_EQ(trace.blocks, (std::vector<TraceBlock>{{0, 3, 4}, {3, 9, 5}}));
  EXPECT_EQ(trace.ids, (std::vector<std::string>{"b1", "b2"}));
  EXPECT_TRUE(trace.tags.empty());
  EXPECT_TRUE(trace.alignments.empty());
}

TEST(ReadTraceCsv, AcceptsColumnsInAnyOrderAndIgnoresUnknownOnes) {
  const Trace trace =
      csv_trace(" size , hint,upper,alignment,id,lower\n5,x,9,64,a,2\n0,,4,128,b,3\n");
  EXPECT_EQ(trace.blocks, (std::vector<TraceBlock>{{2, 9, 5}, {3, 4, 0}}));
  EXPECT_EQ(trace.alignments, (std::vector<std::uint64_t>{64, 128}));
  EXPECT_EQ(csv_trace("id,lower,upper,size,alignment\na,0,1,5,\nb,0,1,5,8\n").alignments,
            (std::vector<std::uint64_t>{1, 8}));
  EXPECT_TRUE(csv_trace("id,lower,upper,size,alignment\na,0,1,5,1\n").alignments.empty());
}

// Pieces of one size would be scanned from the record's start each time: hours for a gigabyte.
TEST(ReadTraceCsv, ReadsALongRecordInGrowingPieces) {
  class CountedBuffer : public std::stringbuf {
   public:
    using std::stringbuf::stringbuf;
    int reads = 0;

   protected:
    std::streamsize xsgetn(char* to, std::streamsize bytes) override {
      ++reads;
      return std::stringbuf::xsgetn(to, bytes);
    }
  };
  CountedBuffer buffer("id,lower,upper,size\n" + std::string(std::size_t{1} << 25, '1'));
  std::istream in(&buffer);
  EXPECT_THROW(read_trace_csv(in, "trace.csv"), TraceError);
  EXPECT_LT(buffer.reads, 32);
}

TEST(ReadTraceCsv, RefusesARecordOfTooManyFields) {
  EXPECT_EQ(trace_refusal("id,lower,upper,size\n" + std::string(70'000, ',')),
            "trace.csv line 2: more than 65536 fields");
}

TEST(ReadTraceCsv, KnowsMiniMallocsOtherColumnNames) {
  const Trace expected{.blocks = {{0, 3, 4}, {3, 9, 5}}, .ids = {"b1", "b2"}};
  for (const char* header :
       {"id,lower,upper,size", "buffer,start,upper,size", "buffer_id,begin,upper,size"}) {
    const Trace trace = csv_trace(std::string(header) + "\nb1,0,3,4\nb2,3,9,5\n");
    EXPECT_EQ(trace.blocks, expected.blocks) << header;
    EXPECT_EQ(trace.ids, expected.ids) << header;
  }
}

TEST(ReadTraceCsv, TakesEndForTheLastTick) {
  const Trace trace = csv_trace("buffer_id,start,end,size,gaps\na,0,2,4,\nb,3,8,5,4-4 6-7@0:1\n");
  EXPECT_EQ(trace.blocks, (std::vector<TraceBlock>{{0, 3, 4}, {3, 9, 5}}));
  EXPECT_EQ(trace.gaps, (std::vector<TraceGap>{{1, 4, 5}}));
  EXPECT_EQ(trace_refusal("id,start,end,size\na,5,4,1\n"),
            "trace.csv line 2, field end: got the empty lifetime [5, 5), expected lower < upper");
  EXPECT_THAT(trace_refusal("id,lower,end,size\na,0,9223372036854775807,1\n"),
              HasSubstr("field end: got \"9223372036854775807\", expected a whole number from 0 to "
                        "9223372036854775806"));
  EXPECT_EQ(csv_trace("id,lower,end,size\na,0,9223372036854775806,1\n").blocks[0].upper, INT64_MAX);
}

TEST(ReadTraceCsv, ReadsGaps) {
  const Trace trace = csv_trace(
      "id,lower,upper,size,gaps\na,0,9,4,\nb,0,20,8,12-15  3-5\n"
      "c,2,8,8, 2-4 4-8 \nd,0,9,8,1-2@0:8 4-6 7-8@3:4\n");
  EXPECT_EQ(trace.gaps,
            (std::vector<TraceGap>{{1, 3, 5}, {1, 12, 15}, {2, 2, 4}, {2, 4, 8}, {3, 4, 6}}))
      << "ordered by tick; gaps with a window are dropped";
  EXPECT_NO_THROW(require_sound(trace));
}

TEST(ReadTraceCsv, NamesWhatIsWrongWithAGap) {
  const auto refused = [](const std::string& gaps) {
    const std::string message =
        trace_refusal("id,lower,upper,size,gaps\na,0,9,4,\nb,3,20,8," + gaps + "\n");
    const std::string where = "trace.csv line 3, field gaps: got ";
    EXPECT_EQ(message.substr(0, where.size()), where);
    return message.substr(std::min(where.size(), message.size()));
  };
  for (const char* gap : {"5", "5-", "-5-7", "5-7-8", "5:7", "a-b", "5-7,", "5- 7", "+5-7",
                          "5-9223372036854775808"}) {
    EXPECT_EQ(refused("\"" + std::string(gap) + "\""),
              "\"" + std::string(gap == std::string("5- 7") ? "5-" : gap) +
                  "\", expected LOWER-UPPER or LOWER-UPPER@A:B, numbers from 0 to "
                  "9223372036854775807");
  }
  EXPECT_EQ(refused("5-5"), "the empty gap [5, 5), expected lower < upper");
  EXPECT_EQ(refused("7-5"), "the inverted gap [7, 5), expected lower < upper");
  EXPECT_EQ(refused("2-5"), "the gap [2, 5), expected one within the lifetime [3, 20)");
  EXPECT_EQ(refused("5-21"), "the gap [5, 21), expected one within the lifetime [3, 20)");
  EXPECT_EQ(refused("9-12 5-10"),
            "the gaps [5, 10) and [9, 12), expected gaps that do not overlap");
  EXPECT_EQ(refused("9-12 5-10@0:1"),
            "the gaps [5, 10) and [9, 12), expected gaps that do not overlap")
      << "windows make no difference";
  for (const char* window : {"", "3", "3-4", "3:4:5", "-1:3", ":"}) {
    EXPECT_EQ(refused("5-7@" + std::string(window)),
              "\"" + std::string(window) + "\", expected bytes in use during the gap, as A:B");
  }
  EXPECT_EQ(refused("5-7@0:9"), "the bytes [0, 9), expected bytes within the block's 8");
  EXPECT_EQ(refused("5-7@4:4"), "the bytes [4, 4), expected bytes within the block's 8");
}

TEST(ReadTraceCsv, ReadsFixedOffsets) {
  const Trace trace =
      csv_trace("id,lower,upper,size,offset\na,0,1,2,\nb,0,1,2,-1\nc,0,1,2, 64 \nd,0,1,2,\n");
  using Offsets = std::vector<std::optional<std::uint64_t>>;
  EXPECT_EQ(trace.fixed_offsets, (Offsets{{}, {}, 64, {}}));
  EXPECT_EQ(fixed_block_count(trace), 1u);
  const std::string header = "id,lower,upper,size,offset\n";
  EXPECT_TRUE(csv_trace(header + "a,0,1,2,\nb,0,1,2,-1\n").fixed_offsets.empty());
  EXPECT_EQ(csv_trace(header + "a,0,1,2,0\n").fixed_offsets, Offsets{0});
  EXPECT_EQ(trace_refusal(header + "a,0,1,2,-2\n"), "trace.csv line 2, field offset: got \"-2\", " +
                                                        kNumbers + ", or nothing or -1 for none");
  EXPECT_THAT(trace_refusal(header + "a,0,1,2,9223372036854775808\n"), HasSubstr(kNumbers));
  EXPECT_EQ(trace_refusal(header + "a,0,1,2,9223372036854775806\n"),
            "trace.csv line 2, field offset: got 9223372036854775806, expected the block of 2 "
            "bytes to end by 9223372036854775807");
}

TEST(ReadTraceCsv, AcceptsEveryWayToEndLines) {
  const Trace expected = csv_trace("id,lower,upper,size\na,0,1,2\n");
  for (const char* text :
       {"\xef\xbb\xbfid,lower,upper,size\na,0,1,2\n", "id,lower,upper,size\r\na,0,1,2\r\n",
        "id,lower,upper,size\na,0,1,2", "id,lower,upper,size\r\na,0,1,2\r",
        "\n\r\nid,lower,upper,size\n\n\na,0,1,2\n\r\n\n", "id,lower,upper,size\na, 0 ,\t1,2 \n",
        "\"id\",lower,\"upper\",size\n\"a\",\"0\",1,2\n"}) {
    EXPECT_EQ(csv_trace(text).blocks, expected.blocks) << text;
    EXPECT_EQ(csv_trace(text).ids, expected.ids) << text;
  }
}

TEST(ReadTraceCsv, AcceptsATraceWithoutBlocks) {
  EXPECT_EQ(csv_trace("id,lower,upper,size\n").size(), 0u);
}

TEST(ReadTraceCsv, KeepsIdsOnlyWhereTheyDifferFromTheNumber) {
  EXPECT_TRUE(csv_trace("id,lower,upper,size\n0,0,1,1\n1,0,1,1\n").ids.empty());
  const Trace trace = csv_trace("id,lower,upper,size\n0,0,1,1\n7,0,1,1\n");
  EXPECT_EQ(trace.ids, (std::vector<std::string>{"0", "7"}));
}

TEST(ReadTraceCsv, NamesSourceLineAndField) {
  const std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(trace_refusal(header + "a,0,1,2\nb,0,1,x\n"),
            "trace.csv line 3, field size: got \"x\", " + kNumbers);
  EXPECT_EQ(trace_refusal("\n" + header + "\na,-1,1,2"),
            "trace.csv line 4, field lower: got \"-1\", " + kNumbers);
  for (const char* number : {"", "1.5", "0x10", "1e3", "+1", "9223372036854775808", "1 2", "1_000",
                             "99999999999999999999999999"}) {
    EXPECT_EQ(trace_refusal(header + "a,0," + number + ",2\n"),
              std::string("trace.csv line 2, field upper: got \"") + number + "\", " + kNumbers);
  }
  EXPECT_EQ(trace_refusal(header + ",0,1,2\n"),
            "trace.csv line 2, field id: got \"\", expected a name");
}

TEST(ReadTraceCsv, RefusesEmptyAndInvertedLifetimes) {
  EXPECT_EQ(trace_refusal("id,lower,upper,size\na,4,4,1\n"),
            "trace.csv line 2, field upper: got the empty lifetime [4, 4), expected lower < upper");
  EXPECT_EQ(
      trace_refusal("id,lower,upper,size\na,5,4,1\n"),
      "trace.csv line 2, field upper: got the inverted lifetime [5, 4), expected lower < upper");
}

TEST(ReadTraceCsv, RefusesDuplicateIds) {
  EXPECT_EQ(trace_refusal("id,lower,upper,size\na,0,1,1\nb,0,1,1\na,0,1,1\n"),
            "trace.csv line 4, field id: got \"a\" a second time, expected unique ids");
  EXPECT_THAT(trace_refusal("id,lower,upper,size\n0,0,1,1\n1,0,1,1\n1,0,1,1\n"),
              HasSubstr("line 4, field id: got \"1\" a second time"));
}

TEST(ReadTraceCsv, RefusesADuplicateAmongManyIds) {
  std::string text = "id,lower,upper,size\n";
  for (int i = 0; i < 5000; ++i) text += "block" + std::to_string(i * 37 % 5000) + ",0,1,1\n";
  EXPECT_EQ(csv_trace(text).ids.size(), 5000u);
  for (int i = 0; i < 5000; i += 77) {
    const std::string name = "block" + std::to_string(i);
    ASSERT_EQ(
        trace_refusal(text + name + ",0,1,1\n"),
        "trace.csv line 5002, field id: got \"" + name + "\" a second time, expected unique ids");
  }
}

TEST(ReadTraceCsv, RefusesBadHeaders) {
  EXPECT_EQ(trace_refusal(""),
            "trace.csv: got no text, expected a header line with the columns id,lower,upper,size");
  EXPECT_EQ(trace_refusal("\n\n"), trace_refusal(""));
  EXPECT_EQ(trace_refusal("0,45,247,589825\n"),
            "trace.csv line 1: got \"0,45,247,589825\", expected a header line with the columns "
            "id,lower,upper,size");
  EXPECT_EQ(trace_refusal("id,lower,size\na,0,1\n"),
            "trace.csv line 1: got \"id,lower,size\", expected a header line with the columns "
            "id,lower,upper,size");
  EXPECT_EQ(trace_refusal("id,lower,upper,size,id\n"),
            "trace.csv line 1, field id: the header names this column twice");
  EXPECT_EQ(trace_refusal("id,lower,upper,size,start\n"),
            "trace.csv line 1, field start: the header has this column already, as lower");
  EXPECT_EQ(trace_refusal("id,lower,end,size,upper\n"),
            "trace.csv line 1, field upper: the header has this column already, as end");
}

TEST(ReadTraceCsv, RefusesBadRecords) {
  const std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(trace_refusal(header + "a,0,1\n"),
            "trace.csv line 2: got 3 fields, expected 4 as in the header");
  EXPECT_THAT(trace_refusal(header + "a,0,1,2,\n"), HasSubstr("got 5 fields, expected 4"));
  EXPECT_EQ(trace_refusal(header + "\"a,0,1,2\n"),
            "trace.csv line 2: a quoted field is not closed");
  EXPECT_EQ(trace_refusal(header + "\"a\"b,0,1,2\n"),
            "trace.csv line 2: text follows the closing quote of a field");
  EXPECT_EQ(trace_refusal(header + "\"a\nb\",0,1,2\nc,0,1,x\n"),
            "trace.csv line 4, field size: got \"x\", " + kNumbers)
      << "line ends inside quotes count";
}

TEST(ReadTraceCsv, RefusesUnknownPhasesAndCategories) {
  const std::string header = "id,lower,upper,size,phase,category\n";
  EXPECT_EQ(trace_refusal(header + "a,0,1,2,sideways,input\n"),
            "trace.csv line 2, field phase: got \"sideways\", expected one of outside, forward, "
            "backward, update");
  EXPECT_THAT(trace_refusal(header + "a,0,1,2,forward,soup\n"),
              HasSubstr("field category: got \"soup\", expected one of input, activation"));
  EXPECT_THAT(trace_refusal("id,lower,upper,size,alignment\na,0,1,2,0\n"),
              HasSubstr("field alignment: got \"0\", expected a whole number from 1 to"));
}

TEST(ReadTraceCsv, ShortensWhatItQuotes) {
  const std::string message =
      trace_refusal("id,lower,upper,size\na,0,1," + std::string(5000, 'x') + "\n");
  EXPECT_LT(message.size(), 250u);
  EXPECT_THAT(trace_refusal("id,lower,upper,size\na,0,1,\"x\ny\"\n"), HasSubstr("got \"x?y\""));
}

TEST(TraceCsv, RoundTripsTagsAndQuoting) {
  Trace trace{.blocks = {{0, 3, 4}, {3, 9, 0}, {1, 2, 77}}, .ids = {"a,b", "say \"hi\"", " c\n"}};
  trace.tags = {{"conv2d", "conv1", Phase::kForward, Category::kActivation},
                {"a, \"b\"\r\nc", " ", Phase::kBackward, Category::kParameterGradient},
                {"", "", Phase::kOutside, Category::kUnknown}};
  const Trace back = csv_trace(text_of(trace, 512));
  EXPECT_EQ(back.blocks, (std::vector<TraceBlock>{{0, 3, 512}, {3, 9, 512}, {1, 2, 512}}));
  EXPECT_EQ(back.ids, trace.ids);
  EXPECT_EQ(back.tags, trace.tags);
  EXPECT_EQ(back.alignments, std::vector<std::uint64_t>(3, 512));
}

TEST(TraceCsv, RoundTripsEveryPhaseAndCategory) {
  Trace trace;
  for (int i = 0; i < kCategoryCount; ++i) {
    trace.blocks.push_back({i, i + 1, 1});
    trace.tags.push_back({"op", "layer", static_cast<Phase>(i % 4), static_cast<Category>(i)});
  }
  EXPECT_EQ(csv_trace(text_of(trace)).tags, trace.tags);
}

TEST(TraceCsv, WritesPlainTracesAsMiniMallocDoes) {
  EXPECT_EQ(text_of({.blocks = {{0, 3, 4}, {3, 9, 5}}}), "id,lower,upper,size\n0,0,3,4\n1,3,9,5\n");
}

TEST(TraceCsv, RoundTripsRandomTraces) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Trace trace = random_trace(seed, seed % 50, 100, ~0ull >> 2);
    ASSERT_TRUE(csv_trace(text_of(trace)).same_requests(trace)) << "seed " << seed;
  }
}

// A trace that uses everything in the format.
Trace rich_trace(std::uint64_t seed) {
  Trace trace = random_trace(seed, 1 + seed % 40, 100, ~0ull >> 8);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    trace.ids.push_back((seed % 2 == 0 ? "b, \"" : "b") + std::to_string(i));
    trace.tags.push_back({"op", "layer " + std::to_string(random() % 5),
                          static_cast<Phase>(random() % 4),
                          static_cast<Category>(random() % kCategoryCount)});
    const bool fixed = i == 0 || random() % 3 == 0;
    trace.fixed_offsets.push_back(fixed ? std::optional(random() >> 2) : std::nullopt);
    if (seed % 3 > 0) trace.alignments.push_back(2 + random() % 1000);
    Tick tick = trace.blocks[i].lower;
    while (random() % 3 != 0) {
      const Tick lower = tick + static_cast<Tick>(random() % 10);
      const Tick upper = lower + 1 + static_cast<Tick>(random() % 10);
      if (upper > trace.blocks[i].upper) break;
      trace.gaps.push_back({i, lower, upper});
      tick = upper;
    }
  }
  return trace;
}

TEST(TraceCsv, RoundTripsGapsFixedOffsetsTagsAndAlignment) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Trace trace = rich_trace(seed);
    const Trace back = csv_trace(text_of(trace));
    ASSERT_EQ(back.blocks, trace.blocks) << "seed " << seed;
    ASSERT_EQ(back.ids, trace.ids) << "seed " << seed;
    ASSERT_EQ(back.tags, trace.tags) << "seed " << seed;
    ASSERT_EQ(back.fixed_offsets, trace.fixed_offsets) << "seed " << seed;
    ASSERT_EQ(back.gaps, trace.gaps) << "seed " << seed;
    ASSERT_EQ(back.alignments, trace.alignments) << "seed " << seed;
  }
}

TEST(TraceCsv, WritesGapsAndFixedOffsetsAsMiniMallocReadsThem) {
  EXPECT_EQ(text_of({.blocks = {{0, 9, 4}, {3, 9, 5}},
                     .fixed_offsets = {{}, 8},
                     .gaps = {{0, 1, 3}, {0, 5, 6}}}),
            "id,lower,upper,size,gaps,offset\n0,0,9,4,1-3 5-6,-1\n1,3,9,5,,8\n");
}

TEST(CsvField, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_field("conv1.relu"), "conv1.relu");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("\""), "\"\"\"\"");
  for (const std::string padded : {" a", "a ", "\ta", "a\t"}) {
    EXPECT_EQ(csv_field(padded), '"' + padded + '"') << "readers trim what is not quoted";
  }
  EXPECT_EQ(csv_field("a b"), "a b");
}

TEST(ReadTraceCsv, NamesAStreamThatFailsInTheMiddle) {
  const auto read = [](auto reader) {
    FailingBuffer buffer("id,lower,upper,size,offset\n0,0,1,7,0\n");
    std::istream in(&buffer);
    reader(in, "t.csv");
  };
  const auto is_named = testing::ThrowsMessage<TraceError>("t.csv: the text cannot be read");
  EXPECT_THAT([&] { read([](auto&... arguments) { read_trace_csv(arguments...); }); }, is_named);
  EXPECT_THAT([&] { read([](auto&... arguments) { read_plan_csv(arguments...); }); }, is_named);
}

}  // namespace
}  // namespace skyline
