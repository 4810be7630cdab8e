#include "memory/session/tag_matcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "memory/adaptors/adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/errors.h"
#include "memory/planners/registry.h"
#include "memory/session/arena.h"
#include "memory/session/plan.h"

namespace skyline {
namespace {

StepRequest request(std::string op, std::uint64_t bytes, RequestIndex needed_until) {
  return {.bytes = bytes, .needed_until = needed_until, .tag = {.op = std::move(op)}};
}

std::string ops_of(const std::vector<StepRequest>& requests) {
  std::string ops;
  for (const StepRequest& each : requests) ops += each.tag.op;
  return ops;
}

TEST(TagMatcher, FindsTheNextRequestOfATag) {
  const TagMatcher tags({request("a", 1, 1), request("b", 1, 2), request("a", 1, 3)});
  EXPECT_EQ(tags.next({.op = "a"}, 0), 0u);
  EXPECT_EQ(tags.next({.op = "a"}, 1), 2u);
  EXPECT_EQ(tags.next({.op = "b"}, 2), kStepEnd);
  EXPECT_EQ(tags.next({.op = "c"}, 0), kStepEnd);
  EXPECT_EQ(tags.next({.op = "a"}, 3), kStepEnd);
}

TEST(TagMatcher, TellAllPartsOfATagApart) {
  StepRequest one = request("a", 1, 1);
  one.tag.layer = "conv1";
  one.tag.phase = Phase::kBackward;
  one.tag.category = Category::kGradient;
  const TagMatcher tags({one});
  Tag tag{.op = "a", .layer = "conv1", .phase = Phase::kBackward, .category = Category::kGradient};
  EXPECT_EQ(tags.next(tag, 0), 0u);
  for (Tag other : {Tag{.op = "b", .layer = "conv1"}, Tag{.op = "a", .layer = "conv2"}, Tag{}}) {
    other.phase = tag.phase;
    other.category = tag.category;
    EXPECT_EQ(tags.next(other, 0), kStepEnd);
  }
  tag.category = Category::kActivation;
  EXPECT_EQ(tags.next(tag, 0), kStepEnd);
  tag.category = Category::kGradient;
  tag.phase = Phase::kForward;
  EXPECT_EQ(tags.next(tag, 0), kStepEnd);
}

TEST(OfAnotherOrder, IsAStepOfOtherTagsOrOfAnotherNumberOfRequests) {
  const std::vector<StepRequest> known = {request("a", 1, 1), request("b", 1, 2)};
  const auto differs = [&](RequestIndex requests, const Observation& seen) {
    StepLog log;
    log.note(seen);
    log.note_requests(requests);
    return of_another_order(log, known);
  };
  const BlockTag a{.op = "a"}, b{.op = "b"};
  EXPECT_FALSE(differs(2, {.request = 1, .tag = b}));
  EXPECT_FALSE(differs(2, {.request = 1})) << "of an overdue block the tag is not known";
  EXPECT_FALSE(differs(2, {.request = 2, .refused = true, .tag = a})) << "none of the two";
  EXPECT_TRUE(differs(2, {.request = 1, .tag = a}));
  EXPECT_TRUE(differs(1, {.request = 0, .tag = a}));
  EXPECT_TRUE(differs(3, {.request = 2, .tag = a}));
}

TEST(Joined, MeetsByPositionWhileAllTagsAreTheSame) {
  const StepRecording all = joined({{request("a", 10, 2), request("b", 5, 2)},
                                    {request("a", 4, 1), request("b", 20, kStepEnd)}});
  EXPECT_EQ(all.matching, Matching::kByPosition);
  EXPECT_TRUE(same_requests(all.requests, {request("a", 10, 2), request("b", 20, kStepEnd)}));
}

// A loop with two turns and one with three, each forward and then backward.
TEST(Joined, LoopsOfOtherLengthsMeetByTag) {
  const std::vector<StepRequest> two = {request("f", 10, 4), request("f", 20, 3),
                                        request("b", 1, 3), request("b", 2, 4)};
  const std::vector<StepRequest> three = {request("f", 10, 6), request("f", 10, 5),
                                          request("f", 10, 4), request("b", 1, 4),
                                          request("b", 1, 5),  request("b", 1, 6)};
  for (const StepRecording& all : {joined({three, two}), joined({two, three})}) {
    EXPECT_EQ(all.matching, Matching::kByTag);
    EXPECT_EQ(ops_of(all.requests), "fffbbb");
    EXPECT_EQ(all.requests[1].bytes, 20u);
    EXPECT_EQ(all.requests[4].bytes, 2u);
    for (const RequestIndex forward : {0u, 1u, 2u}) {
      EXPECT_EQ(all.requests[forward].needed_until, 6 - forward);
    }
  }
}

TEST(Joined, WhatIsInsertedMovesTheLifetimesAroundIt) {
  const StepRecording all = joined({{request("a", 1, 3), request("b", 1, 2), request("d", 1, 3)},
                                    {request("a", 1, 1), request("c", 1, 3), request("d", 1, 3)}});
  EXPECT_EQ(ops_of(all.requests), "acbd");
  EXPECT_EQ(all.requests[0].needed_until, 4u) << "the first says: to the end";
  EXPECT_EQ(all.requests[1].needed_until, 4u) << "alive when d was made";
  EXPECT_EQ(all.requests[2].needed_until, 3u);
}

// The arena logs what joined() predicts.
class ArenaByTag : public testing::Test {
 protected:
  SimulatedDevice device_;
  BestFitPool pool_{device_}, unbounded_{device_};
  LimitAdaptor fallback_{unbounded_, 4096};
  Arena arena_{device_, pool_, fallback_, std::size_t{1} << 30};

  void install(const StepRecording& recording) {
    const StepPlan planned =
        plan_step(recording, [](const Trace& t) { return plan(t, "best-fit"); });
    arena_.commit(planned.plan.peak);
    arena_.install(planned.layout);
  }
  Block request_of(std::string_view op, std::size_t bytes) {
    return arena_.allocate(bytes, {.op = op});
  }
};

const StepRecording kLoop{
    .requests = {request("f", 1024, 6), request("f", 1024, 5), request("f", 1024, 4),
                 request("b", 512, 4), request("b", 512, 5), request("b", 512, 6)},
    .matching = Matching::kByTag};

TEST_F(ArenaByTag, ServesAShorterLoopFromThePlan) {
  install(kLoop);
  arena_.begin_step(0);
  Block first = request_of("f", 1024), second = request_of("f", 1000);
  request_of("b", 512);
  second.reset();
  request_of("b", 512);
  first.reset();
  arena_.end_step();
  arena_.settle();
  EXPECT_TRUE(arena_.log().empty());
  EXPECT_EQ(arena_.planned_requests(), 4u);
  EXPECT_EQ(arena_.statistics().requests, 4u);
  EXPECT_EQ(arena_.fallback_requests(), 0u);
}

TEST_F(ArenaByTag, APlaceOfItsOwnForWhatComesBetween) {
  install(kLoop);
  arena_.begin_step(0);
  Block first = request_of("f", 1024), second = request_of("f", 1024),
        third = request_of("f", 1024);
  Block loss = request_of("loss", 700);
  third.reset();
  second.reset();
  request_of("b", 512);
  loss.reset();
  first.reset();
  arena_.end_step();
  arena_.settle();
  ASSERT_EQ(arena_.log().observations().size(), 1u);
  const Observation& seen = arena_.log().observations()[0];
  EXPECT_EQ(seen.kind, Deviation::kBetween);
  EXPECT_EQ(seen.request, 3u);
  EXPECT_EQ(seen.needed_until, 5u);
  const std::vector<StepRequest> learned = merged(kLoop.requests, arena_.log());
  EXPECT_EQ(ops_of(learned),
            "fff"
            "loss"
            "bbb");
  EXPECT_EQ(learned[3].bytes, 700u);
  EXPECT_EQ(learned[0].needed_until, 7u);
  EXPECT_EQ(learned[2].needed_until, 5u) << "planned to be freed after the first b";
}

TEST_F(ArenaByTag, ARefusedRequestBetweenHasItsPlaceToo) {
  install(kLoop);
  arena_.begin_step(0);
  Block first = request_of("f", 1024);
  EXPECT_THROW(request_of("large", 5000), OutOfMemory);
  EXPECT_THROW(request_of("none", ~std::size_t{0}), OutOfMemory);  // teaches nothing
  Block small = request_of("small", 100);
  EXPECT_EQ(arena_.requests_made(), 3u);
  arena_.abandon_step();
  arena_.settle();
  EXPECT_EQ(ops_of(merged(kLoop.requests, arena_.log())), "flargesmallffbbb");
}

TEST_F(ArenaByTag, ABlockThatIsAliveWhereALoopEndsEarlierIsNeverOverwritten) {
  StepRecording handed_on{.requests = {request("f", 1024, 2), request("f", 1024, 3),
                                       request("f", 1024, 4), request("out", 1024, 4)},
                          .matching = Matching::kByTag};
  install(handed_on);
  arena_.begin_step(0);
  Block only = request_of("f", 1024);
  Block out = request_of("out", 1024);  // planned over the first, which should be free by now
  EXPECT_EQ(arena_.overdue_blocks(), 1u);
  EXPECT_NE(only.address(), out.address());
  only.reset();
  out.reset();
  arena_.end_step();
  arena_.settle();
  const std::vector<StepRequest> learned = merged(handed_on.requests, arena_.log());
  EXPECT_EQ(learned[0].needed_until, 4u);
}

}  // namespace
}  // namespace skyline
