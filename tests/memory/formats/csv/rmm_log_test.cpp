#include "memory/formats/csv/rmm_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/formats/csv/event_csv.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHeader = "Thread,Time,Action,Pointer,Size,Stream\n";

std::vector<PlainEvent> rmm_events(const std::string& text) {
  std::istringstream in(text);
  RmmLogReader reader(in, "rmm.csv");
  return all_events(reader);
}

std::string rmm_refusal(const std::string& text) {
  try {
    rmm_events(text);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RmmLogReader, ReadsWhatRmmWrites) {
  const auto events = rmm_events(kHeader +
                                 "2342727,15:47:02.841961,allocate,0x10012400000,1048576,0\n"
                                 "2342727,15:47:02.841977,free,0x10012400000,1048576,0x7f8a\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0],
            (PlainEvent{AllocationEvent::Kind::kAllocation, "0x10012400000", 1048576, {}, "0"}));
  EXPECT_EQ(events[1].kind, AllocationEvent::Kind::kFree);
  EXPECT_EQ(events[1].stream, "0x7f8a");
}

TEST(RmmLogReader, CallsABlockByItsAddressHoweverItIsWritten) {
  const auto events = rmm_events(kHeader + "1,0,allocate,00ABC,1,0\n1,0,free,0xabc,1,0\n");
  EXPECT_EQ(events[0].id, "0xabc");
  EXPECT_EQ(events[1].id, "0xabc");
}

TEST(RmmLogReader, LeavesOutFailuresAndTheNullPointer) {
  EXPECT_TRUE(rmm_events(kHeader +
                         "1,0,allocate failure,0x0,99999999,0\n1,0,allocate failure,(nil),9,0\n"
                         "1,0,allocate,0x0,0,0\n1,0,free,(nil),0,0\n")
                  .empty());
}

TEST(RmmLogReader, TakesColumnsInAnyOrder) {
  EXPECT_EQ(rmm_events("Size,Action,Pointer\n5,allocate,0x1\n")[0].bytes, 5u);
}

TEST(RmmLogReader, RefusesByFileLineAndField) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"", "rmm.csv: got no text, expected RMM's header line"},
      {"Thread,Time,Action,Pointer\n", "rmm.csv line 1: got \"Thread,Time,Action,Pointer\""},
      {kHeader + "1,0,alloc,0x1,5,0\n",
       "rmm.csv line 2, field Action: got \"alloc\", expected allocate, free or allocate failure"},
      {kHeader + "1,0,allocate,address,5,0\n",
       "line 2, field Pointer: got \"address\", expected an address in hexadecimal digits"},
      {kHeader + "1,0,allocate,0x,5,0\n", "field Pointer: got \"0x\""},
      {kHeader + "1,0,allocate,0x1ffffffffffffffff,5,0\n", "field Pointer"},
      {kHeader + "1,0,allocate,0x0,5,0\n", "field Pointer: got the null pointer for 5 bytes"},
      {kHeader + "1,0,allocate,0x1,-5,0\n", "line 2, field Size: got \"-5\", expected a whole"},
      {kHeader + "1,0,allocate,0x1,9223372036854775808,0\n", "field Size"},
      {kHeader + "1,0,allocate,0x1\n", "line 2: got 4 fields, expected 6 as in the header"},
      {"Action,Pointer,Size,Size\n", "field Size: the header names this column twice"},
  };
  for (const auto& [text, sentence] : refused) EXPECT_THAT(rmm_refusal(text), HasSubstr(sentence));
}

std::string log_of(const std::string& events, std::size_t capacity) {
  std::istringstream in(events);
  EventCsvReader reader(in, "events.csv");
  SimulatedDevice device(capacity);
  std::string log;
  RmmLogWriter writer([&](std::string_view bytes) { log += bytes; });
  served(reader, device, {&writer});
  return log;
}

TEST(RmmLogWriter, WritesAddressesTimesAndFailures) {
  EXPECT_EQ(log_of("event,id,bytes,stream\ns,,,\na,x,512,\na,y,4096,0x7f\nf,x,,\n", 1024),
            kHeader +
                "1,00:00:00.000000,allocate,0x200000,512,0\n"
                "1,00:00:00.000001,allocate failure,0x0,4096,0x7f\n"
                "1,00:00:00.000002,free,0x200000,512,0\n");
}

TEST(RmmLogWriter, QuotesStreamsThatNeedIt) {
  const std::string log = log_of("event,id,bytes,stream\na,x,512,\"a,\"\"b\"\"\"\n", 1024);
  EXPECT_THAT(log, HasSubstr("0x200000,512,\"a,\"\"b\"\"\"\n"));
  EXPECT_EQ(rmm_events(log)[0].stream, "a,\"b\"");
}

TEST(RmmLogWriter, WhatIsWrittenAsksForTheSame) {
  std::istringstream in(log_of(
      "event,id,bytes\na,x,512\na,none,0\na,y,9223372036854775807\nf,y,\nf,x,\na,x,7\n", 1 << 20));
  RmmLogReader reader(in, "rmm.csv");
  SimulatedDevice device;
  EXPECT_THAT(served(reader, device), ElementsAre(512, 0, -512, 7));
}

}  // namespace
}  // namespace skyline
