#include "train/decide/rank_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "framework/ops/ranks/rank_sum_ops.h"
#include "memory/planners/registry.h"
#include "models/models.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/decided_run.h"
#include "train/lab/ranks/rank_answer.h"

namespace skyline {
namespace {

using namespace tests;

using Buckets = std::vector<std::vector<std::size_t>>;

StepSeconds modelled() { return step_seconds({}, {.device = "cpu"}); }

DryRunOptions program_of(const std::string& model, std::size_t ranks) {
  DryRunOptions program{.model = model, .batch_size = 8, .ranks = ranks};
  if (model == "seq2seq") {
    program.optimizer.name = "adam";
    program.translation = {
        .source_words = 1000, .target_words = 1000, .units = 64, .embedding = 64};
  } else {
    program.shape = find_model(model).shape;
  }
  program.step.order = kProgramOrder;
  return program;
}

std::size_t sums_of(const StepGraph& graph) {
  return static_cast<std::size_t>(std::ranges::count(graph.ops, kBeginRankSum, &StepOp::name));
}

// A plain rule to compare with: a bucket is full once it has a quarter of the bytes that are left,
// at least 64 KiB. `step` sums all gradients at once.
Buckets quarters(const StepGraph& step) {
  const StepOp& sum = *std::ranges::find(step.ops, kBeginRankSum, &StepOp::name);
  const auto written_at = [&](std::size_t number) {
    std::size_t last = 0;
    for (std::size_t op = 0; &step.ops[op] != &sum; ++op) {
      if (std::ranges::count(step.ops[op].outputs, sum.inputs[number]) > 0) last = op;
    }
    return last;
  };
  std::vector<std::size_t> numbers(sum.inputs.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::ranges::stable_sort(numbers, {}, written_at);
  const auto bytes_of = [&](std::size_t number) { return step.values[sum.inputs[number]].bytes; };
  std::uint64_t rest = 0, bytes = 0, full = 0;
  for (const std::size_t number : numbers) rest += bytes_of(number);
  Buckets buckets;
  for (const std::size_t number : numbers) {
    if (bytes >= full) {
      buckets.emplace_back();
      bytes = 0;
      full = std::max(rest / 4, std::uint64_t{64} << 10);
    }
    buckets.back().push_back(number);
    bytes += bytes_of(number);
    rest -= bytes_of(number);
  }
  return buckets;
}

RecordedStep step_with(DryRunOptions program, const SumBuckets& buckets) {
  program.buckets = buckets;
  return dry_run(program).step;
}

SumBuckets chosen_for(const DryRunOptions& program, const RankLink& link) {
  return sum_buckets([&](const SumBuckets& buckets) { return step_with(program, buckets); },
                     modelled().of, program.ranks, link);
}

void expect_no_later_than_rule(const DryRunOptions& program, const RankLink& link, double most) {
  SCOPED_TRACE(program.model + " on " + std::to_string(program.ranks) + " by " +
               program.step.order);
  const auto seconds_with = [&](const SumBuckets& buckets) {
    const RecordedStep step = step_with(program, buckets);
    EXPECT_EQ(sums_of(step.graph), buckets->size());
    return timed_sums(step.graph, modelled().of(step), program.ranks, link).seconds;
  };
  DryRunOptions as_written = program;
  as_written.step.order = kProgramOrder;
  const Buckets rule = quarters(step_with(as_written, nullptr).graph);
  EXPECT_LE(seconds_with(chosen_for(program, link)),
            seconds_with(std::make_shared<const Buckets>(rule)) * most);
}

TEST(SumBuckets, EndNoLaterThanARuleOnEveryNetwork) {
  for (const std::string model :
       {"mlp", "lenet", "resnet20", "googlenet", "resnet50", "vgg16", "seq2seq"}) {
    const bool large = model == "googlenet" || model == "resnet50" || model == "seq2seq";
    for (const std::size_t ranks : {2, 8, 64}) {
      if (large && ranks != 8 && !runs_at_night()) continue;
      for (const RankLink& link :
           {RankLink(), RankLink{.bytes_per_second = 100'000'000, .message_seconds = 50e-6}}) {
        DryRunOptions program = program_of(model, ranks);
        // Updates between the sums hide some of the later ones, which the choice does not count.
        expect_no_later_than_rule(program, link, 1.05);
        // An order of lowest peak begins some sums later than their gradients are whole, depending
        // on their bytes and on workspaces, so the choice is not the best of all divisions.
        program.step.order = kDefaultOrder;
        expect_no_later_than_rule(program, link, 1.15);
      }
    }
  }
}

// At this batch, a sum of all of vgg16's gradients fits only beside the last ops.
TEST(SumBuckets, AreSmallWhereLargeOnesFitNowhere) {
  DryRunOptions program = program_of("vgg16", 8);
  program.step.order = kDefaultOrder;
  const SumBuckets buckets = chosen_for(program, {});
  const RecordedStep step = step_with(program, buckets);
  EXPECT_GT(timed_sums(step.graph, modelled().of(step), 8, {}).hidden(), 0.3);
}

TEST(SumBuckets, HoldEachGradientOnce) {
  for (const std::string model : {"lenet", "seq2seq"}) {
    const SumBuckets buckets = chosen_for(program_of(model, 8), {.bytes_per_second = 1'000'000});
    EXPECT_GT(buckets->size(), 1u);
    std::multiset<std::size_t> numbers;
    for (const auto& bucket : *buckets) numbers.insert(bucket.begin(), bucket.end());
    std::size_t next = 0;
    for (const std::size_t number : numbers) EXPECT_EQ(number, next++);
  }
}

TEST(SumBuckets, OfOneRankAreNone) { EXPECT_EQ(chosen_for(program_of("mlp", 1), {}), nullptr); }

TEST(SumBuckets, OfAnotherGraphAreRefused) {
  for (const Buckets& wrong : {Buckets{{0}}, Buckets{{0, 1, 2, 3, 4, 5, 6, 700}}}) {
    DryRunOptions program = program_of("mlp", 2);
    program.buckets = std::make_shared<const Buckets>(wrong);
    EXPECT_THROW(dry_run(program), std::logic_error);
  }
}

// What `train` plans for ranks that a dry run foresees.
TEST(SumBuckets, OfARunAreThoseOfItsDryRun) {
  for (const auto& [order, bandwidth] :
       {std::pair("optimal", "1MiB"), std::pair("optimal", "10GiB"),
        std::pair("program", "1MiB")}) {
    SCOPED_TRACE(std::string(order) + " " + bandwidth);
    const Outcome outcome = skyline_program(
        {"dry-run", "--model", "resnet20", "--batch-size", "8", "--threads", "1", "--ranks", "4",
         "--bandwidth", bandwidth, "--order", order, "--allocators", "pool", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
    const nlohmann::json foreseen = outcome.json()["scaling"]["rows"][2];
    ASSERT_EQ(foreseen["ranks"], 4);
    TrainOptions options{.model = "resnet20", .batch_size = 8, .threads = 1};
    options.data.images = 64;
    options.step.order = order;
    options.ranks.ranks = 4;
    options.ranks.link.bandwidth = std::string(bandwidth) == "1MiB" ? 1 << 20 : 10ull << 30;
    std::ostringstream messages;
    Console console(messages, {});
    const DecidedWorkload decided = decided_workload(resolved(options), {}, console);
    const DryRunFacts step = tests::longest_step(decided);
    EXPECT_EQ(foreseen["sums"], decided.decisions.buckets->size());
    EXPECT_EQ(foreseen["sums"], sums_of(step.step.graph));
    EXPECT_EQ(foreseen["peak"], plan(step.trace).peak);
    EXPECT_EQ(foreseen["resident_bytes"], step.resident_bytes);
  }
}

TEST(SumBuckets, OfTextAreThoseOfTheLongestBatch) {
  TrainOptions options{.model = "seq2seq", .steps = 2, .batch_size = 8, .threads = 1};
  options.data.data = "numbers";
  options.text.pairs = 200;
  options.text.units = 16;
  options.ranks.ranks = 2;
  std::ostringstream messages;
  Console console(messages, {});
  const DecidedWorkload decided = decided_workload(resolved(options), {}, console);
  ASSERT_NE(decided.decisions.buckets, nullptr);
  EXPECT_EQ(sums_of(tests::longest_step(decided).step.graph), decided.decisions.buckets->size());
  options.ranks.ranks = 1;
  EXPECT_EQ(decided_workload(resolved(options), {}, console).decisions.buckets, nullptr);
}

}  // namespace
}  // namespace skyline
