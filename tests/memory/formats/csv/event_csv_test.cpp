#include "memory/formats/csv/event_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using EventKind = AllocationEvent::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<PlainEvent> csv_events(const std::string& text) {
  std::istringstream in(text);
  EventCsvReader reader(in, "events.csv");
  return all_events(reader);
}

// Returns the message with which a text is refused.
std::string csv_events_refusal(const std::string& text) {
  try {
    csv_events(text);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

PlainEvent plain(EventKind kind, const std::string& id, std::uint64_t bytes = 0) {
  return {kind, id, bytes, {}, {}};
}

std::string events_as_csv(const std::vector<PlainEvent>& events, bool tagged) {
  std::string text;
  EventCsvWriter writer([&](std::string_view bytes) { text += bytes; }, tagged);
  for (const PlainEvent& event : events) {
    writer.write({.kind = event.kind,
                  .id = event.id,
                  .bytes = event.bytes,
                  .tag = {event.tag.op, event.tag.layer, event.tag.phase, event.tag.category},
                  .stream = event.stream,
                  .pool = event.pool});
  }
  writer.finish();
  return text;
}

TEST(EventCsvReader, ReadsAllocationsFreesAndSteps) {
  EXPECT_THAT(csv_events("event,id,bytes\na,w,4096\ns,,\na,x,0\nf,x,\nf,w,9\n"),
              ElementsAre(plain(EventKind::kAllocation, "w", 4096), plain(EventKind::kStep, ""),
                          plain(EventKind::kAllocation, "x", 0), plain(EventKind::kFree, "x"),
                          plain(EventKind::kFree, "w")));
}

TEST(EventCsvReader, TakesColumnsInAnyOrderAndIgnoresUnknownOnes) {
  EXPECT_THAT(csv_events("colour,bytes , id,event\nred,7,a,a\n,,a,f\n"),
              ElementsAre(plain(EventKind::kAllocation, "a", 7), plain(EventKind::kFree, "a")));
}

TEST(EventCsvReader, ReadsTagsAndStreams) {
  const auto events = csv_events(
      "event,id,bytes,tag,layer,phase,category,stream\n"
      "a,x,8,conv2d,conv1,forward,activation,0x7f\n"
      "a,y,8,,,dreaming,nightmare,\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].tag, (BlockTag{"conv2d", "conv1", Phase::kForward, Category::kActivation}));
  EXPECT_EQ(events[0].stream, "0x7f");
  EXPECT_EQ(events[1].tag, BlockTag{}) << "other programs use other names";
}

TEST(EventCsvReader, ReadsPoolsInterruptionsAndReturnsOfCachedMemory) {
  const auto events =
      csv_events("event,id,bytes,pool,stream\na,x,8, 0.1 , 3\nc,,,,\ni,,,,\nr,,,,\nf,x,,,\n");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].stream, "3");
  EXPECT_EQ(events[0].pool, "0.1");
  EXPECT_EQ(events[1], plain(EventKind::kReturn, ""));
  EXPECT_EQ(events[2], plain(EventKind::kInterrupt, ""));
  EXPECT_EQ(events[3], plain(EventKind::kResume, ""));
  EXPECT_EQ(csv_events(events_as_csv(events, true)), events);
}

TEST(EventCsvReader, AcceptsEveryWayToEndLines) {
  for (const char* text :
       {"\xef\xbb\xbf"
        "event,id,bytes\na,x,1\n",
        "event,id,bytes\r\na,x,1\r\n", "event,id,bytes\na,x,1",
        "\n\r\nevent,id,bytes\n\n\na,x,1\r\n\n", "\"event\",id,\"bytes\"\n\"a\",\"x\",\"1\"\n",
        "event,id,bytes\na ,x, 1\t\n"}) {
    EXPECT_THAT(csv_events(text), ElementsAre(plain(EventKind::kAllocation, "x", 1))) << text;
  }
}

TEST(EventCsvReader, QuotedNamesMayHoldAnything) {
  EXPECT_THAT(
      csv_events("event,id,bytes\na,\"x,\"\"1\"\"\ny\",5\nf,\"x,\"\"1\"\"\ny\",\na,in\"ner,1\n"),
      ElementsAre(plain(EventKind::kAllocation, "x,\"1\"\ny", 5),
                  plain(EventKind::kFree, "x,\"1\"\ny"),
                  plain(EventKind::kAllocation, "in\"ner", 1)));
}

TEST(EventCsvReader, ReadsTheLargestSize) {
  EXPECT_EQ(csv_events("event,id,bytes\na,x,9223372036854775807\n")[0].bytes, 9223372036854775807u);
}

TEST(EventCsvReader, RefusesByFileLineAndField) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"", "events.csv: got no text, expected a header line with the columns event,id,bytes"},
      {"\n\n", "got no text"},
      {"id,lower,upper,size\n",
       "events.csv line 1: got \"id,lower,upper,size\", expected a header"},
      {"event,id\na,x\n", "expected a header line with the columns event,id,bytes"},
      {"event,id,bytes,id\n", "line 1, field id: the header names this column twice"},
      {"event,id,bytes\nb,x,1\n",
       "events.csv line 2, field event: got \"b\", expected a (allocation), f (free), s (step), "
       "i (interruption), r (resume) or c (return of cached memory)"},
      {"event,id,bytes\n,x,1\n", "line 2, field event: got \"\""},
      {"event,id,bytes\na,,1\n", "line 2, field id: got \"\", expected the name of a block"},
      {"event,id,bytes\nf,,\n", "line 2, field id: got \"\", expected the name of a block"},
      {"event,id,bytes\na,x,\n",
       "line 2, field bytes: got \"\", expected a whole number from 0 to 9223372036854775807"},
      {"event,id,bytes\na,x,-1\n", "field bytes: got \"-1\""},
      {"event,id,bytes\na,x,9223372036854775808\n", "field bytes: got \"9223372036854775808\""},
      {"event,id,bytes\na,x,99999999999999999999999\n", "field bytes: got \"9999999"},
      {"event,id,bytes\na,x,1e3\n", "field bytes: got \"1e3\""},
      {"event,id,bytes\na,x\n", "line 2: got 2 fields, expected 3 as in the header"},
      {"event,id,bytes\na,x,1,2\n", "line 2: got 4 fields, expected 3 as in the header"},
      {"event,id,bytes\na,x,1\n\n\"a,y,1\n", "line 4: a quoted field is not closed"},
      {"event,id,bytes\n\"a\"b,y,1\n", "line 2: text follows the closing quote of a field"},
      {"event,id,bytes\na,\"x\ny\",1\nb,z,1\n", "line 4, field event"},
  };
  for (const auto& [text, sentence] : refused)
    EXPECT_THAT(csv_events_refusal(text), HasSubstr(sentence));
}

TEST(EventCsvReader, ATruncatedFileIsReadToItsLastWholeLine) {
  EXPECT_THAT(csv_events_refusal("event,id,bytes\na,x,1\na,y"), HasSubstr("line 3: got 2 fields"));
}

TEST(EventCsvReader, RefusesALineWithoutEnd) {
  const std::string endless =
      "event,id,bytes\na,\"" + std::string(3 * CsvReader::kLongestRecordBytes, 'x');
  EXPECT_THAT(csv_events_refusal(endless),
              HasSubstr("line 2: the record is longer than 1048576 bytes"));
}

TEST(EventCsvReader, LinesMayLieAcrossThePiecesOfTheStream) {
  std::string text = "event,id,bytes\n";
  for (int i = 0; i < 60'000; ++i) {
    text += i % 3 == 0 ? "a,\"b\n" + std::to_string(i) + "\",1\n"
                       : "a,b" + std::to_string(i) + ",1\r\n";
  }
  const auto events = csv_events(text);
  ASSERT_EQ(events.size(), 60'000u);
  for (int i = 0; i < 60'000; ++i) {
    const auto index = static_cast<std::size_t>(i);
    ASSERT_EQ(events[index].id, (i % 3 == 0 ? "b\n" : "b") + std::to_string(i));
  }
}

TEST(EventCsvReader, NamesAStreamThatFails) {
  std::istringstream in("event,id,bytes\n");
  in.setstate(std::ios::badbit);
  EXPECT_THROW(EventCsvReader(in, "events.csv"), TraceError);
}

TEST(EventCsvWriter, WhatIsWrittenIsReadBack) {
  const std::vector<PlainEvent> events = {
      {EventKind::kAllocation,
       "x,\"1\"",
       7,
       {"conv2d", "a,b", Phase::kBackward, Category::kGradient},
       "s"},
      {EventKind::kStep, "", 0, {}, {}},
      {EventKind::kAllocation, "y", 9223372036854775807u, {}, {}},
      {EventKind::kFree, "x,\"1\"", 0, {}, {}},
  };
  EXPECT_EQ(csv_events(events_as_csv(events, true)), events);
}

TEST(EventCsvWriter, LeavesOutTagsWhereThereAreNone) {
  EXPECT_EQ(events_as_csv({plain(EventKind::kAllocation, "w", 8), plain(EventKind::kStep, ""),
                           plain(EventKind::kFree, "w")},
                          false),
            "event,id,bytes\na,w,8\ns,,\nf,w,\n");
}

}  // namespace
}  // namespace skyline
