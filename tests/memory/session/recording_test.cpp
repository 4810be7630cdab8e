#include "memory/session/recording.h"

#include <gtest/gtest.h>

#include <random>

#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/errors.h"
#include "memory/session/plan.h"

namespace skyline {
namespace {

TEST(CanonicalStep, PutsReleasesBeforeTheRequestThatMayReuse) {
  const CanonicalStep step = canonical_step({{.bytes = 10, .needed_until = 2, .release_order = 1},
                                             {.bytes = 20, .needed_until = 2, .release_order = 0},
                                             {.bytes = 30, .needed_until = kStepEnd}});
  const std::vector<TraceBlock> expected = {{.lower = 0, .upper = 3, .bytes = 10},
                                            {.lower = 1, .upper = 2, .bytes = 20},
                                            {.lower = 4, .upper = 5, .bytes = 30}};
  EXPECT_EQ(step.trace.blocks, expected);
  EXPECT_EQ(step.by_release, (std::vector<std::uint32_t>{1, 0, 2}));
}

TEST(CanonicalStep, LeavesOutWhatOutlivesTheStep) {
  const CanonicalStep step = canonical_step({{.bytes = 10, .needed_until = 1},
                                             {.bytes = 20, .outlives_step = true},
                                             {.bytes = 30, .needed_until = 3}});
  ASSERT_EQ(step.trace.size(), 2u);
  EXPECT_EQ(step.request_of, (std::vector<RequestIndex>{0, 2}));
  EXPECT_EQ(step.requests, 3u);
  EXPECT_EQ(step.trace.blocks[1], (TraceBlock{.lower = 2, .upper = 3, .bytes = 30}));
}

// The session's recording and the recording adaptor are independent and must agree on every tick.
TEST(CanonicalStep, EqualsWhatTheRecordingAdaptorRecords) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    SimulatedDevice device;
    BestFitPool pool(device);
    RecordingAdaptor recording(pool);
    StepLog log;
    std::vector<std::pair<Block, std::size_t>> live;
    recording.begin_step(0);
    RequestIndex made = 0;
    for (; made < 1 + random() % 40; ++made) {
      const std::size_t bytes = random() % 5000;
      const std::size_t place = log.note({.request = made, .bytes = bytes});
      live.emplace_back(recording.allocate(bytes), place);
      while (!live.empty() && random() % 2 == 0) {
        std::swap(live[random() % live.size()], live.back());
        log.note_release(live.back().second, made + 1);
        live.pop_back();
      }
    }
    recording.end_step();
    const Trace trace = canonical_step(merged({}, log)).trace;
    EXPECT_TRUE(trace.same_requests(recording.last_step()));
    EXPECT_TRUE(canonical_step(requests_of(trace)).trace.same_requests(trace)) << "and back";
  }
}

TEST(RequestsOf, ABlockIsNeededUntilTheFirstRequestThatMayReuseIt) {
  const std::vector<StepRequest> requests =
      requests_of({.blocks = {{0, 2, 1}, {2, 4, 1}, {3, 9, 1}, {4, 9, 1}}});
  EXPECT_EQ(requests[0].needed_until, 1u);
  EXPECT_EQ(requests[1].needed_until, 3u);
  EXPECT_EQ(requests[2].needed_until, kStepEnd);
}

TEST(MovedUntil, FollowsThePlacesAndCountsOnBehindThem) {
  const std::vector<RequestIndex> places = {0, 3, 4};
  EXPECT_EQ(moved_until(1, places), 1u);
  EXPECT_EQ(moved_until(2, places), 4u);
  EXPECT_EQ(moved_until(3, places), 5u);
  EXPECT_EQ(moved_until(5, places), 7u);
  EXPECT_EQ(moved_until(kStepEnd, places), kStepEnd);
}

TEST(RequestsOf, NamesTheBlockThatIsOutOfOrder) {
  Trace trace{
      .blocks = {{.lower = 5, .upper = 6, .bytes = 1}, {.lower = 4, .upper = 6, .bytes = 1}},
      .ids = {"early", "late"}};
  try {
    requests_of(trace);
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("late"), std::string::npos) << error.what();
  }
  trace.blocks[1] = {.lower = 6, .upper = 6, .bytes = 1};
  EXPECT_THROW(requests_of(trace), TraceError);
}

TEST(Merged, KeepsTheMaximumOfEachRequest) {
  StepLog log;
  log.note({.request = 0, .bytes = 5, .needed_until = 4});
  log.note({.request = 1, .bytes = 50, .needed_until = 2, .outlives_step = true});
  log.note({.request = 2, .bytes = 7, .needed_until = 3});
  const std::vector<StepRequest> known = {{.bytes = 10, .needed_until = 1},
                                          {.bytes = 20, .needed_until = 3}};
  const std::vector<StepRequest> expected = {
      {.bytes = 10, .needed_until = 4},
      {.bytes = 50, .needed_until = 3, .outlives_step = true},
      {.bytes = 7, .needed_until = 3}};
  EXPECT_TRUE(same_requests(merged(known, log), expected));
  EXPECT_TRUE(same_requests(merged(merged(known, log), log), expected)) << "once is enough";
}

TEST(Merged, KeepsTheOrderOfReleasesButOfWhatLivesLonger) {
  StepLog log;
  log.note({.request = 0, .needed_until = 2, .release_order = 7});
  log.note({.request = 1, .needed_until = 4, .release_order = 8});
  const std::vector<StepRequest> learned = merged(
      {{.needed_until = 3, .release_order = 1}, {.needed_until = 3, .release_order = 0}}, log);
  EXPECT_EQ(learned[0].release_order, 1u);
  EXPECT_EQ(learned[1].release_order, 8u);
}

TEST(Merged, WhatOutlivedItsStepOnceIsLeftToThePool) {
  StepLog log;
  log.note({.request = 0, .bytes = 5});
  const std::vector<StepRequest> known = {{.bytes = 5, .outlives_step = true}};
  EXPECT_TRUE(same_requests(merged(known, log), known));
  EXPECT_FALSE(same_requests(known, {{.bytes = 5}})) << "needed to the end, not past it";
}

TEST(StepLog, ACutSettlesWhatIsStillAlive) {
  StepLog log;
  const std::size_t freed = log.note({.request = 0, .bytes = 1});
  const std::size_t alive = log.note({.request = 1, .bytes = 1});
  const std::size_t overdue =
      log.note({.request = 0, .kind = Deviation::kOverdue, .last_seen_alive_at = 2});
  log.note_release(freed, 1);
  log.cut(2);
  log.note_release(alive, kStepEnd);
  log.note_outlives(alive);
  EXPECT_EQ(log.observations()[freed].needed_until, 1u);
  EXPECT_EQ(log.observations()[alive].needed_until, 2u);
  EXPECT_FALSE(log.observations()[alive].outlives_step);
  EXPECT_EQ(log.observations()[overdue].needed_until, 3u) << "alive when request 2 was made";
}

TEST(StepLog, ABlockIsNeededAtLeastPastTheRequestThatFoundItAlive) {
  StepLog log;
  const std::size_t overdue = log.note({.kind = Deviation::kOverdue, .last_seen_alive_at = 3});
  log.note_release(overdue, 3);  // request 3 was refused
  EXPECT_EQ(log.observations()[overdue].needed_until, 4u);
  log.note({.request = 5});
  log.refuse_last(/*keep=*/true);
  EXPECT_EQ(log.observations().back().needed_until, 6u) << "for its own request";
}

TEST(StepLayout, CountsThePlannedReleasesBeforeEachRequest) {
  const CanonicalStep step = canonical_step({{.bytes = 513, .needed_until = 1},
                                             {.bytes = 1, .outlives_step = true},
                                             {.bytes = 0, .needed_until = 3},
                                             {.bytes = 1, .outlives_step = true}});
  const StepLayout layout =
      make_layout(step, {.offsets = {0, 0}, .peak = 1024, .alignment = kAlignmentBytes});
  ASSERT_EQ(layout.slots.size(), 4u);
  EXPECT_EQ(layout.slots[0].bytes(), 1024u);
  EXPECT_FALSE(layout.slots[1].planned());
  EXPECT_EQ(layout.slots[2].bytes(), 512u);
  EXPECT_EQ(layout.slots[0].released_before, 0u);
  EXPECT_EQ(layout.slots[1].released_before, 0u);
  EXPECT_EQ(layout.slots[2].released_before, 1u);
  EXPECT_EQ(layout.slots[3].released_before, 1u) << "of no plan: what came before it";
  EXPECT_EQ(layout.request_of_rank, (std::vector<RequestIndex>{0, 2}));
  EXPECT_THROW(make_layout(step, {.offsets = {0}}), PlanMismatch);
}

}  // namespace
}  // namespace skyline
