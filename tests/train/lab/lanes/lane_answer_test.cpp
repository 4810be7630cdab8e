#include "train/lab/lanes/lane_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "memory/lanes/lane_checker.h"
#include "memory/lanes/lane_schedule.h"
#include "memory/validator.h"
#include "models/models.h"
#include "train/cli/usage_error.h"
#include "train/decide/step_seconds.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/lab/mxnet/mxnet.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

Lanes a_lane_each(std::size_t ops) {
  Lanes lanes(ops);
  std::iota(lanes.begin(), lanes.end(), LaneId{0});
  return lanes;
}

struct LaneNetwork {
  std::string name, model;
  bool unroll = false;
};

std::vector<LaneNetwork> all_networks() {
  std::vector<LaneNetwork> networks = {{"seq2seq_unrolled", "seq2seq", true}};
  for (const std::string& model : model_names()) {
    std::string name = model;
    std::ranges::replace(name, '-', '_');
    networks.push_back({name, model});
  }
  return networks;
}

class EveryNetworksLanes : public ::testing::TestWithParam<LaneNetwork> {
 protected:
  RecordedStep step() const {
    DryRunOptions options{.model = GetParam().model, .sentence_words = 10, .batch_size = 4};
    if (translates(options.model)) {
      options.translation = {
          .source_words = 50, .target_words = 60, .units = 32, .unroll = GetParam().unroll};
      options.optimizer = {.name = "adam", .clip = 5};
    } else if (find_gpt(options.model) != nullptr) {
      options.gpt = {.words = 60, .positions = 10, .layers = 2, .heads = 2, .units = 32};
      options.window_length = 10;
      options.optimizer = {.name = "adamw", .clip = 1};
    } else {
      options.shape = find_model(options.model).shape;
    }
    return dry_run(options).step;
  }
};

// The edges of the step are the only events; the checker shares no code with the planners.
TEST_P(EveryNetworksLanes, HavePlansThatTheCheckersAccept) {
  const RecordedStep recorded = step();
  const StepGraph& graph = recorded.graph;
  const std::vector<double> seconds = foreseen_seconds(recorded, assumed_speed("cpu"));
  const SimulatedStep simulated = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, simulated);
  const Lanes each = a_lane_each(graph.ops.size());
  for (const std::size_t lanes : {2, 4}) {
    const LaneAnswer answer = lane_answer(graph, seconds, lanes, "");
    ASSERT_EQ(answer.plans.size(), 5u);
    for (const LanePlan& row : answer.plans) {
      const Validity validity = validate(simulated.trace, row.plan);
      EXPECT_TRUE(validity.valid) << row.name << ": " << validity.reason;
      EXPECT_LE(row.critical_path, row.seconds * (1 + 1e-12)) << row.name;
      EXPECT_LE(answer.schedule.critical_path, row.critical_path) << row.name;
    }
    const auto verdict = [&](std::size_t plan, const Lanes& on, std::vector<LaneEvent> events) {
      return check_lanes(graph, answer.plans[plan].plan, on, events);
    };
    const Lanes& given = answer.schedule.lanes;
    const std::vector<LaneEvent> events = lane_events(edges, given);
    EXPECT_EQ(verdict(0, Lanes(graph.ops.size()), {}).reason, "");
    EXPECT_EQ(verdict(1, given, events).reason, "");
    EXPECT_TRUE(answer.plans[1].waits.empty());
    EXPECT_LE(answer.plans[3].plan.peak, answer.plans[1].plan.peak) << "soft, these lanes";
    EXPECT_EQ(verdict(3, given, events).reason, "");
    EXPECT_TRUE(answer.plans[3].waits.empty());
    for (const std::size_t plan : {2, 4}) {
      EXPECT_EQ(verdict(plan, given, events).reason, "");
      EXPECT_EQ(verdict(plan, each, lane_events(edges, each)).reason, "");
      EXPECT_TRUE(answer.plans[plan].waits.empty());
    }
    // The plan for one lane is right on several as soon as its waits are events, too.
    std::vector<LaneEvent> more = events;
    std::ranges::copy(answer.one_lane().waits, std::back_inserter(more));
    EXPECT_EQ(verdict(0, given, more).reason, "");
  }
}

TEST_P(EveryNetworksLanes, MissNoEvent) {
  const RecordedStep recorded = step();
  const StepGraph& graph = recorded.graph;
  const std::vector<double> seconds = foreseen_seconds(recorded, assumed_speed("cpu"));
  const LaneAnswer answer = lane_answer(graph, seconds, 2, "");
  const StepEdges edges = step_edges(graph, simulate_uses(graph));
  const std::vector<LaneEvent> events = lane_events(edges, answer.schedule.lanes);
  ASSERT_EQ(events.size(), answer.events);
  const std::size_t stride = std::max<std::size_t>(events.size() / 10, 1);
  for (std::size_t k = 0; k < events.size(); k += stride) {
    std::vector<LaneEvent> fewer = events;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
    const LaneVerdict verdict =
        check_lanes(graph, answer.plans[1].plan, answer.schedule.lanes, fewer);
    EXPECT_FALSE(verdict.safe) << "without the event from op " << events[k].before << " to op "
                               << events[k].after;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryNetworksLanes, ::testing::ValuesIn(all_networks()),
                         [](const auto& tested) { return tested.param.name; });

TEST(LaneAnswerTest, RefusesMoreLanesThanOps) {
  const StepGraph graph = parallel_note().graph;
  const std::vector<double> seconds(8, 1);
  EXPECT_NO_THROW(lane_answer(graph, seconds, 8, ""));
  try {
    lane_answer(graph, seconds, 9, "");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--lanes 9: the step has only 8 ops");
  }
}

}  // namespace
}  // namespace skyline
