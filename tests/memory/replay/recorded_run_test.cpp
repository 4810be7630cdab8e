#include "memory/replay/recorded_run.h"

#include <gtest/gtest.h>

#include "tests/train/images/small_training.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/options/memory_options.h"
#include "train/run/memory_summary.h"

namespace skyline {
namespace {

using namespace tests;
using Act = RecordedRun::Act;

struct Case {
  std::string model, allocator;
  Mode mode = Mode::kTraining;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& allocator : allocator_names()) {
    for (const std::string& model : small_model_names()) cases.push_back({model, allocator});
    cases.push_back({"lenet", allocator, Mode::kInference});
  }
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<Case>& tested) {
  std::string name = tested.param.model + "_" + tested.param.allocator +
                     (tested.param.mode == Mode::kTraining ? "_training" : "_inference");
  std::ranges::replace(name, '-', '_');
  return name;
}

class ReplayedRunTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr std::size_t kBatch = 4;

  // Runs the same number of real steps; `planned` warms up first.
  static MemorySummary real_run(const char* device, int steps) {
    const Case& tested = GetParam();
    const bool planned = tested.allocator == kPlannedAllocator;
    const ModelShape shape = small_shape(tested.model);
    Context::Options options = seeded(tested.mode);
    options.orders = context_options(StepOptions()).orders;
    if (std::string_view(device) != "cpu") options.dry_run.emplace();
    ImageRun experiment({.device = device, .allocator = tested.allocator}, options,
                        {.model = tested.model, .shape = shape});
    const std::vector<Batch> batches = small_batches(shape, kBatch, 1);
    for (int i = 0; i < steps + (planned ? 1 : 0); ++i) {
      experiment.train_step(batches.front(), small_params());
    }
    return memory_summary(experiment, tested.allocator, 0);
  }

  static AllocatorUse replayed() {
    const Case& tested = GetParam();
    const DryRunFacts facts = dry_run({.model = tested.model,
                                       .shape = small_shape(tested.model),
                                       .batch_size = kBatch,
                                       .mode = tested.mode});
    return replay_run(facts.run, facts.trace, {.allocator = tested.allocator});
  }
};

TEST_P(ReplayedRunTest, ReservesWhatARealRunOnTheProcessorDoes) {
  const AllocatorUse use = replayed();
  EXPECT_TRUE(use.fits) << use.problem;
  EXPECT_EQ(use.peak_reserved_bytes, real_run("cpu", use.steps).steady_peak_bytes());
}

TEST_P(ReplayedRunTest, AsksTheDeviceAsOftenAsADryRunUnderTheAllocator) {
  const AllocatorUse use = replayed();
  const MemorySummary facts = real_run("simulated", use.steps);
  EXPECT_EQ(use.peak_reserved_bytes, facts.steady_peak_bytes());
  if (GetParam().allocator == kPlannedAllocator) return;  // its warm-up took more
  EXPECT_EQ(use.device_allocations + use.later_device_allocations,
            facts.device_allocations_after_switch);
}

INSTANTIATE_TEST_SUITE_P(Networks, ReplayedRunTest, ::testing::ValuesIn(all_cases()), name_of);

// A replay runs out of memory at the same capacity as the program itself, to the byte.
TEST(ReplayRunTest, FitsWhereTheProgramDoes) {
  const ModelShape shape = small_shape("lenet");
  const DryRunFacts facts = dry_run({.model = "lenet", .shape = shape, .batch_size = 8});
  Context::Options program = context_options(StepOptions());
  program.dry_run = Emulation();
  for (const std::string& allocator : allocator_names()) {
    if (allocator == kPlannedAllocator) continue;  // the program would warm up on the pool
    const std::uint64_t needed =
        replay_run(facts.run, facts.trace, {.allocator = allocator}).peak_reserved_bytes;
    for (std::uint64_t capacity = needed / 2; capacity <= needed; capacity += needed / 64) {
      bool fits = true;
      try {
        ImageRun experiment(
            {.device = "simulated", .capacity_bytes = capacity, .allocator = allocator}, program,
            {.model = "lenet", .shape = shape});
        Batch batch;
        batch.size = 8;
        for (int i = 0; i < kMostReplayedSteps; ++i) experiment.train_step(batch, {});
      } catch (const OutOfMemory&) {
        fits = false;
      }
      const ReplayChoice choice{.allocator = allocator, .capacity_bytes = capacity};
      EXPECT_EQ(replay_run(facts.run, facts.trace, choice).fits, fits)
          << allocator << " at " << capacity;
    }
  }
}

TEST(ReplayRunTest, SaysWhyItDoesNotFit) {
  const DryRunFacts facts = dry_run({.model = "lenet", .batch_size = 8});
  const AllocatorUse use =
      replay_run(facts.run, facts.trace, {.allocator = "best-fit-pool", .capacity_bytes = 1 << 16});
  EXPECT_FALSE(use.fits);
  EXPECT_NE(use.problem.find("out of memory"), std::string::npos) << use.problem;
  EXPECT_LE(use.peak_reserved_bytes, 1u << 16);
}

TEST(ReplayRunTest, AnUnknownAllocatorIsRefused) {
  EXPECT_THROW(replay_run({}, Trace{}, {.allocator = "pol"}), std::invalid_argument);
}

TEST(RunRecorderTest, NotesWhatIsKeptAndTheLastStep) {
  RunRecorder recorder;
  Block kept = recorder.allocate(1000, {"resident", "fc.weight"});
  Block gone = recorder.allocate(512);
  gone.reset();
  for (int step = 0; step < 2; ++step) {
    recorder.begin_step(7);
    Block first = recorder.allocate(100, {"relu", "act", Phase::kForward, Category::kActivation});
    {
      const Interruption interruption(recorder);
      Block outside = recorder.allocate(2048);
    }
    first.reset();
    recorder.end_step();
  }
  recorder.allocate(4096);  // between steps
  const RecordedRun& run = recorder.run();
  EXPECT_EQ(run.key, 7u);
  ASSERT_EQ(run.requests.size(), 5u);  // the next step forgets the one between steps
  EXPECT_EQ(run.requests[2].tag, (BlockTag{"relu", "act", Phase::kForward, Category::kActivation}));
  EXPECT_EQ(run.before, (std::vector<RecordedRun::Event>{
                            {Act::kAllocate, 0}, {Act::kAllocate, 1}, {Act::kFree, 1}}));
  EXPECT_EQ(run.step, (std::vector<RecordedRun::Event>{{Act::kAllocate, 2},
                                                       {Act::kInterrupt, 0},
                                                       {Act::kAllocate, 3},
                                                       {Act::kFree, 3},
                                                       {Act::kResume, 0},
                                                       {Act::kFree, 2}}));
  EXPECT_EQ(run.resident_bytes(512), 1024u);
  EXPECT_EQ(run.resident_bytes(1), 1000u);
  EXPECT_EQ(run.most_bytes(512), 1024u + 512 + 2048);
  EXPECT_EQ(run.most_bytes(1), 1000u + 100 + 2048);
}

}  // namespace
}  // namespace skyline
