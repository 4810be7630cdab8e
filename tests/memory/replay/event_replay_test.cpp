#include "memory/replay/event_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/allocators.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/errors.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/session/session.h"
#include "tests/memory/replay/replayed_events.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReplayFigures figures_of(const std::string& text, const std::string& allocator_name,
                         std::optional<std::size_t> capacity = {}) {
  std::istringstream in(text);
  EventCsvReader reader(in, "events.csv");
  SimulatedDevice device(capacity);
  const auto allocator = make_allocator(allocator_name, device);
  EventReplay replay(allocator_name, *allocator, device);
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  return replay.figures();
}

TEST(EventReplay, BlocksNeverFreedLiveToTheEnd) {
  const ReplayFigures figures =
      figures_of("event,id,bytes\na,x,512\na,y,1000\nf,x,\n", "best-fit-pool");
  EXPECT_EQ(figures.end.requested_bytes, 1000u);
  EXPECT_EQ(figures.end.peak_requested_bytes, 1512u);
  EXPECT_EQ(figures.end.reserved_bytes, 1536u);
  EXPECT_EQ(figures.refused, 0u);
}

TEST(EventReplay, LooksAtThePeakWhenItIsReached) {
  // The pool holds 4 free blocks of 512 that fit nothing, then takes 4096 more.
  const ReplayFigures figures =
      figures_of("event,id,bytes\na,a,512\na,b,512\na,c,512\nf,a,\nf,b,\na,d,4000\nf,d,\nf,c,\n",
                 "best-fit-pool");
  ASSERT_TRUE(figures.at_peak);
  EXPECT_EQ(figures.at_peak->reserved_bytes, figures.end.peak_reserved_bytes);
  EXPECT_EQ(figures.at_peak->reserved_bytes, 3 * 512 + 4096u);
  EXPECT_EQ(figures.at_peak->cached_bytes(), 1024u);
  EXPECT_DOUBLE_EQ(figures.at_peak->external_fragmentation(), 0.5);
  EXPECT_EQ(figures.at_peak->internal_fragmentation_bytes(), 96u);
  EXPECT_EQ(figures.end.cached_bytes(), 3 * 512 + 4096u);
}

// Without the interruption, the request in between would be the plan's second.
TEST(EventReplay, InterruptsAndResumes) {
  std::string text = "event,id,bytes\n";
  for (const char* const part : {"", "", "i,,\na,z,4096\nf,z,\nr,,\n"}) {
    text += "s,,\na,x,512\n" + std::string(part) + "a,y,1024\nf,y,\nf,x,\n";
  }
  std::istringstream in(text);
  EventCsvReader reader(in, "events.csv");
  SimulatedDevice device;
  Session session(device);
  EventReplay replay("planned", session, device);
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  EXPECT_EQ(session.session_statistics().planned_steps, 2u);
  EXPECT_EQ(session.session_statistics().deviations, 0u);
  EXPECT_EQ(session.session_statistics().interrupted_requests, 1u);
}

TEST(EventReplay, AnInterruptionMayLastToTheEnd) {
  EXPECT_EQ(figures_of("event,id,bytes\na,1,512\ni,,\nf,1,\n", "network-wise").refused, 0u);
}

TEST(EventReplay, NothingIsResumedThatWasNotInterrupted) {
  EXPECT_THAT([] { figures_of("event,id,bytes\ni,,\nr,,\nr,,\n", "best-fit-pool"); },
              testing::ThrowsMessage<TraceError>(
                  HasSubstr("field event: got a resume, expected an interruption before it")));
}

TEST(EventReplay, DoesNotLookAtAPeakForEverRising) {
  std::string text = "event,id,bytes\n";
  const int requests = 2 * EventReplay::kExactLooks;
  for (int i = 0; i < requests; ++i) text += "a,b" + std::to_string(i) + ",512\n";
  const ReplayFigures at_end = figures_of(text, "best-fit-pool");
  ASSERT_TRUE(at_end.at_peak) << "statistics are taken at the end";
  EXPECT_EQ(at_end.at_peak->reserved_bytes, 512u * static_cast<std::size_t>(requests));
  const ReplayFigures sparing = figures_of(text + "f,b0,\n", "best-fit-pool");
  EXPECT_FALSE(sparing.at_peak) << "unknown, so empty";
}

TEST(EventReplay, GoesOnWithoutTheRequestsThatAreRefused) {
  const std::string text = "event,id,bytes\na,x,512\na,y,1024\nf,y,\na,z,512\nf,x,\na,y,512\n";
  const ReplayFigures figures = figures_of(text, "best-fit-pool", 1024);
  EXPECT_EQ(figures.refused, 1u);
  EXPECT_EQ(figures.end.requested_bytes, 1024u) << "z and the second y";
  ASSERT_EQ(figures.shortages.size(), 1u);
  const ShortageReport& report = figures.shortages[0];
  EXPECT_EQ(report.id, "y");
  EXPECT_EQ(report.bytes, 1024u);
  EXPECT_EQ(report.place.line, 3u);
  EXPECT_EQ(report.facts.shortage, Shortage::kDevice);
  EXPECT_EQ(report.facts.capacity_bytes, 1024u);
  EXPECT_THAT(report.sentence, HasSubstr("the device is full"));
  EXPECT_EQ(report.live_blocks, 1u);
  EXPECT_EQ(report.live_bytes, 512u);
  ASSERT_EQ(report.largest.size(), 1u);
  EXPECT_EQ(report.largest[0].name, "x");
  EXPECT_TRUE(report.categories.empty()) << "the trace has none";
}

TEST(EventReplay, TellsFragmentationFromShortage) {
  // Frees every other MiB of 8 MiB in one segment: 4 MiB are free, but never two in a row.
  std::string text = "event,id,bytes\na,all,8388608\nf,all,\n";
  for (int i = 0; i < 8; ++i) text += "a,b" + std::to_string(i) + ",1048576\n";
  for (int i = 0; i < 8; i += 2) text += "f,b" + std::to_string(i) + ",\n";
  const ReplayFigures figures = figures_of(text + "a,large,3145728\n", "best-fit-pool", 9 * kMiB);
  ASSERT_EQ(figures.shortages.size(), 1u);
  EXPECT_EQ(figures.shortages[0].facts.shortage, Shortage::kFragmentation);
  EXPECT_EQ(figures.shortages[0].facts.largest_free_block_bytes, kMiB);
}

TEST(EventReplay, SaysWhatWasAliveByCategoryAndTheLargestBlocks) {
  const ReplayFigures figures = figures_of(
      "event,id,bytes,tag,layer,phase,category\n"
      "a,w,2048,linear,fc1,outside,parameter\n"
      "a,x,512,relu,act,forward,activation\n"
      "a,y,1024,relu,act,forward,activation\n"
      "a,z,9999999,,,,\n",
      "best-fit-pool", 8192);
  ASSERT_EQ(figures.shortages.size(), 1u);
  const ShortageReport& report = figures.shortages[0];
  ASSERT_EQ(report.categories.size(), 2u);
  EXPECT_EQ(report.categories[0].name, "parameter");
  EXPECT_EQ(report.categories[1].name, "activation");
  EXPECT_EQ(report.categories[1].blocks, 2u);
  EXPECT_EQ(report.categories[1].bytes, 1536u);
  EXPECT_EQ(report.largest[0].name, "w, linear of fc1 (outside, parameter)");
  EXPECT_EQ(report.largest[1].bytes, 1024u);
}

TEST(EventReplay, OfEquallyLargeBlocksShowsTheOlderFirst) {
  const ReplayFigures figures = figures_of(
      "event,id,bytes\na,gone,1\na,b,512\nf,gone,\na,c,512\na,z,9999999\n", "best-fit-pool", 8192);
  ASSERT_EQ(figures.shortages.size(), 1u);
  ASSERT_EQ(figures.shortages[0].largest.size(), 2u);
  EXPECT_EQ(figures.shortages[0].largest[0].name, "b");
  EXPECT_EQ(figures.shortages[0].largest[1].name, "c") << "reuses a slot";
}

TEST(EventReplay, EndsTheStepThatIsOpen) {
  std::istringstream in("event,id,bytes\ns,,\na,x,1\nf,x,\n");
  EventCsvReader reader(in, "events.csv");
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recording(pool);
  EventReplay replay("pool", recording, device);
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  EXPECT_EQ(recording.last_step().size(), 0u);
  replay.finish(events);
  EXPECT_EQ(recording.last_step().size(), 1u);
}

TEST(EventReplay, KeepsTheFirstReportsOnly) {
  std::string text = "event,id,bytes\n";
  for (int i = 0; i < 100; ++i) text += "a,b" + std::to_string(i) + ",4096\n";
  const ReplayFigures figures = figures_of(text, "best-fit-pool", 4096);
  EXPECT_EQ(figures.refused, 99u);
  EXPECT_EQ(figures.shortages.size(), EventReplay::kShortagesKept);
}

TEST(EventReplay, AbsurdSizesAreServedOrRefused) {
  const ReplayFigures figures = figures_of(
      "event,id,bytes\na,none,0\na,all,9223372036854775807\na,more,9223372036854775807\n",
      "best-fit-pool");
  EXPECT_EQ(figures.refused, 2u);
  EXPECT_EQ(figures.end.requests, 1u);
  EXPECT_EQ(figures.end.reserved_bytes, 512u);
}

TEST(EventReplay, GivesEverythingBackInTheEnd) {
  SimulatedDevice device;
  {
    std::istringstream in("event,id,bytes\ns,,\na,x,512\na,y,512\nf,x,\n");
    EventCsvReader reader(in, "events.csv");
    EXPECT_THAT(served(reader, device), ElementsAre(512, 512, -512));
  }
  EXPECT_EQ(device.statistics().reserved_bytes, 0u);
}

// Records what it is notified of.
class Diary final : public ReplayObserver {
 public:
  void allocated(const LiveEvents& events, const Extent& extent) override {
    entries.push_back("a " + events.block().id + " " + std::to_string(extent.bytes));
  }
  void refused(const LiveEvents& events, const OutOfMemory&) override {
    entries.push_back("refused " + events.block().id);
  }
  void freed(const LiveEvents& events, const Extent&) override {
    entries.push_back("f " + events.block().id);
  }
  void step_began(const LiveEvents&) override { entries.push_back("s"); }
  void finished(const ReplayEnd& end) override {
    entries.push_back("end " + std::to_string(end.events.ticks()));
  }
  std::vector<std::string> entries;
};

TEST(EventReplay, TellsItsObservers) {
  std::istringstream in("event,id,bytes\ns,,\na,x,512\na,y,4096\nf,y,\nf,x,\n");
  EventCsvReader reader(in, "events.csv");
  SimulatedDevice device(1024);
  Diary diary;
  served(reader, device, {&diary});
  EXPECT_THAT(diary.entries, ElementsAre("s", "a x 512", "refused y", "f x", "end 4"));
}

}  // namespace
}  // namespace skyline
