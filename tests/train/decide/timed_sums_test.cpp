#include "train/decide/rank_sums.h"

#include <gtest/gtest.h>

#include <vector>

namespace skyline {
namespace {

// Op 1 writes a gradient of 1,000 bytes, op 3 one of 3,000; the sums are waited for at the end.
StepGraph two_sums() {
  return {.values = {{.bytes = 1000, .resident = true, .storage = 0},
                     {.bytes = 3000, .resident = true, .storage = 1},
                     {.bytes = 500, .storage = 2},
                     {.bytes = 1500, .storage = 3}},
          .ops = {{.name = "forward"},
                  {.name = "first", .outputs = {0}},
                  {.name = "begin_rank_sum", .inputs = {0}, .outputs = {2}},
                  {.name = "second", .outputs = {1}},
                  {.name = "begin_rank_sum", .inputs = {1}, .outputs = {3}},
                  {.name = "last"},
                  {.name = "wait_rank_sum", .inputs = {2, 0}, .outputs = {0}},
                  {.name = "wait_rank_sum", .inputs = {3, 1}, .outputs = {1}},
                  {.name = "update", .inputs = {0, 1}}}};
}

TEST(TimedSums, PassOneAfterAnotherBesideTheOps) {
  const std::vector<double> seconds = {1, 1, 9, 1, 9, 1, 9, 9, 1};
  // 2 messages of half the bytes: the first sum takes 1 s from 2 s on, the second 3 s from 3 s on.
  const RankStep step =
      timed_sums(two_sums(), seconds, 2, {.bytes_per_second = 1000, .message_seconds = 0});
  EXPECT_EQ(step.sums, 2u);
  EXPECT_EQ(step.sent_bytes, 4000u);
  EXPECT_DOUBLE_EQ(step.sum_seconds, 4);
  EXPECT_DOUBLE_EQ(step.wait_seconds, 2);  // from 4 s, when the ops are done, to 6 s
  EXPECT_DOUBLE_EQ(step.seconds, 7);
  EXPECT_DOUBLE_EQ(step.hidden(), 0.5);
}

TEST(TimedSums, PayForEachMessage) {
  const std::vector<double> seconds(9, 0);
  const RankStep step =
      timed_sums(two_sums(), seconds, 4, {.bytes_per_second = 1000, .message_seconds = 0.25});
  EXPECT_DOUBLE_EQ(step.sum_seconds, 2 * 6 * 0.25 + 1.5 * 4);
  EXPECT_EQ(step.sent_bytes, 6000u);
}

}  // namespace
}  // namespace skyline
