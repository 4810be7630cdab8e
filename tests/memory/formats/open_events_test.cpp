#include "memory/formats/open_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/memory/failing_buffer.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using testing::HasSubstr;

EventFormat format_of(const std::string& text) {
  std::istringstream in(text);
  return open_events(in, "text").format;
}

std::string events_refusal(const std::string& text, EventFormat format = EventFormat::kAuto) {
  std::istringstream in(text);
  try {
    open_events(in, "text", {.format = format});
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OpenEvents, TellsFormatsByTheirBeginnings) {
  EXPECT_EQ(format_of("event,id,bytes\n"), EventFormat::kEvents);
  EXPECT_EQ(format_of("\xef\xbb\xbf\"event\",id,bytes"), EventFormat::kEvents);
  EXPECT_EQ(format_of("\r\n\nThread,Time,Action,Pointer,Size,Stream\r\n"), EventFormat::kRmm);
  EXPECT_EQ(format_of("id,lower,upper,size\n"), EventFormat::kMiniMalloc);
  EXPECT_EQ(format_of("buffer,start,end,size\n"), EventFormat::kMiniMalloc);
  EXPECT_EQ(
      format_of(std::string("\x80\x02}q\0(X\x08\0\0\0segments]X\x0d\0\0\0device_traces]u.", 41)),
      EventFormat::kSnapshot);
}

TEST(OpenEvents, LosesNothingOfTheStream) {
  for (const char* text : {"event,id,bytes\na,0,7\n", "\n\nevent,id,bytes\n\na,0,7",
                           "Thread,Time,Action,Pointer,Size,Stream\n1,0,allocate,0x1,7,0\n",
                           "id,lower,upper,size\n0,0,1,7\n"}) {
    std::istringstream in(text);
    const auto events = all_events(*open_events(in, "text").reader);
    ASSERT_FALSE(events.empty()) << text;
    EXPECT_EQ(events[0].bytes, 7u) << text;
  }
}

TEST(OpenEvents, NamesWhatItKnowsWhereItKnowsNothing) {
  EXPECT_THAT(events_refusal(""),
              HasSubstr("text: got no text, expected an event trace (header event,id"));
  EXPECT_THAT(events_refusal("a,x,1\n"),
              HasSubstr("text line 1: got \"a,x,1\", expected an event trace"));
  EXPECT_THAT(events_refusal("\"event"), HasSubstr("line 1: a quoted field is not closed"));
  EXPECT_THAT(events_refusal(std::string(10'000, 'x')), HasSubstr("…\", expected an event trace"));
}

TEST(OpenEvents, TakesTheFormatThatIsGiven) {
  EXPECT_THAT(events_refusal("event,id,bytes\n", EventFormat::kRmm),
              HasSubstr("expected RMM's header"));
  EXPECT_THAT(events_refusal("event,id,bytes\n", EventFormat::kSnapshot),
              HasSubstr("text byte 0: got no protocol, expected a pickle of protocol 2 to 5"));
  EXPECT_THAT(events_refusal("event,id,bytes\n", EventFormat::kMiniMalloc),
              HasSubstr("text line 1"));
  EXPECT_EQ(events_refusal("event,id,bytes\n", EventFormat::kEvents), "accepted");
}

TEST(OpenEvents, LooksAtABoundedPartOfALineWithoutEnd) {
  std::istringstream in(std::string(1 << 20, 'x'));
  EXPECT_THROW(open_events(in, "text"), TraceError);
  EXPECT_EQ(in.tellg(), 4096);
}

TEST(OpenEvents, NamesAStreamThatFailsInTheMiddle) {
  for (const char* text :
       {"event,id,bytes\na,x,1\n", "id,lower,upper,size\n", "id,lower,upper,size\n0,0,1,7\n"}) {
    FailingBuffer buffer(text);
    std::istream in(&buffer);
    EXPECT_THAT([&] { all_events(*open_events(in, "text").reader); },
                testing::ThrowsMessage<TraceError>(HasSubstr("text: the text cannot be read")))
        << text;
  }
}

}  // namespace
}  // namespace skyline
