// Request n of a training step fails, for n = 0, 1, 2 … until the step succeeds. Each failure is a
// typed error, nothing leaks, and the step that succeeds gives the undisturbed result.

#include <gtest/gtest.h>

#include "tests/memory/adaptors/failing_adaptor.h"
#include "tests/train/images/small_training.h"
#include "tests/train/run/given_batches.h"
#include "train/optimizers/optimizer.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

using namespace tests;

// A training run with requests that can be made to fail; the failing adaptor is the context's
// allocator.
struct FailingRun {
  explicit FailingRun(const std::string& allocator)
      : memory({.allocator = allocator, .guard = true, .check = true}),
        failing(memory.allocator()),
        context(failing, seeded()),
        model(find_model("lenet").make(context, small_shape("lenet"))),
        optimizer(context, *model, {}) {}

  float step(const Batch& batch) {
    GivenBatches batches(training_key(batch.size),
                         [&](std::size_t) { return forward_loss(context, *model, batch).loss; });
    return training_step(context, optimizer, small_params(), batches);
  }
  std::string sha256() { return tensors_sha256(context, values_of(model->parameters())); }

  MemoryChain memory;
  FailingAdaptor failing;
  Context context;
  std::unique_ptr<Model> model;
  Optimizer optimizer;
};

class FailingRequestTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FailingRequestTest, NothingLeaksAndTheNextStepIsRight) {
  const std::vector<Batch> batches = small_batches(small_shape("lenet"), 4, 4);
  FailingRun undisturbed(GetParam());
  FailingRun disturbed(GetParam());
  for (int i = 0; i < 3; ++i) {  // warm-up, switch, hot
    ASSERT_EQ(undisturbed.step(batches[static_cast<std::size_t>(i)]),
              disturbed.step(batches[static_cast<std::size_t>(i)]));
  }
  const std::string before = disturbed.sha256();
  const std::size_t allocated = disturbed.memory.statistics().allocated_bytes;
  const std::size_t requested = disturbed.memory.statistics().requested_bytes;

  std::uint64_t failures = 0;
  float loss = 0;
  for (std::uint64_t n = 0;; ++n) {
    SCOPED_TRACE("request " + std::to_string(n));
    disturbed.failing.fail_request(n);
    try {
      loss = disturbed.step(batches[3]);
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.facts().shortage, Shortage::kInjected);
      ++failures;
      EXPECT_FALSE(disturbed.failing.armed());
      EXPECT_EQ(disturbed.memory.statistics().allocated_bytes, allocated);
      EXPECT_EQ(disturbed.memory.statistics().requested_bytes, requested);
      EXPECT_EQ(disturbed.sha256(), before);
      EXPECT_EQ(disturbed.context.layer(), "");
      continue;
    }
    EXPECT_TRUE(disturbed.failing.armed()) << "a failure was swallowed";
    break;
  }
  EXPECT_GT(failures, 20u) << "as many as a step has requests";
  EXPECT_EQ(loss, undisturbed.step(batches[3]));
  EXPECT_EQ(disturbed.sha256(), undisturbed.sha256());

  disturbed.failing.disarm();
  EXPECT_EQ(disturbed.step(batches[0]), undisturbed.step(batches[0]));
  EXPECT_EQ(disturbed.sha256(), undisturbed.sha256());
}

// The same for the first step, which the planned allocator records.
TEST_P(FailingRequestTest, AFailedFirstStepIsRepeated) {
  const std::vector<Batch> batches = small_batches(small_shape("lenet"), 4, 2);
  FailingRun undisturbed(GetParam());
  FailingRun disturbed(GetParam());
  for (std::uint64_t n : {0, 7, 21}) {
    disturbed.failing.fail_request(n);
    EXPECT_THROW(disturbed.step(batches[0]), OutOfMemory);
  }
  for (int round = 0; round < 3; ++round) {
    for (const Batch& batch : batches) EXPECT_EQ(disturbed.step(batch), undisturbed.step(batch));
  }
  EXPECT_EQ(disturbed.sha256(), undisturbed.sha256());
}

// Building a model fails at each request in turn; all memory comes back each time.
TEST_P(FailingRequestTest, MakingAModelGivesEverythingBack) {
  MemoryChain memory({.allocator = GetParam()});
  FailingAdaptor failing(memory.allocator());
  std::uint64_t failures = 0;
  for (bool made = false; !made;) {
    failing.fail_request(failures);
    Context context(failing, seeded());
    try {
      const auto model = find_model("resnet20").make(context, small_shape("resnet20"));
      made = true;
    } catch (const OutOfMemory&) {
      ++failures;
    }
  }
  EXPECT_EQ(failures, 2u * 59 + 38) << "a value and a gradient each, and the running statistics";
  EXPECT_EQ(memory.statistics().allocated_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Allocators, FailingRequestTest, ::testing::ValuesIn(allocator_names()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// A device that is too small causes a typed error with the figures in it.
TEST(FailingRequestTest, ATooSmallDeviceRefuses) {
  const ModelShape shape = small_shape("lenet");
  for (const std::string& allocator : allocator_names()) {
    SCOPED_TRACE(allocator);
    // Just enough for the parameters; `caching` and `stitched` take 2 MiB at a time.
    const bool by_pages = allocator == "caching" || allocator == "stitched";
    const std::size_t capacity_bytes = by_pages ? 2048 * 1024 : 700 * 1024;
    ImageRun experiment({.capacity_bytes = capacity_bytes, .allocator = allocator}, seeded(),
                        {.model = "lenet", .shape = shape});
    const std::size_t allocated = experiment.memory.statistics().allocated_bytes;
    for (int i = 0; i < 2; ++i) {
      try {
        experiment.train_step(small_batches(shape, 256, 1).front(), small_params());
        ADD_FAILURE() << "no error";
      } catch (const OutOfMemory& error) {
        EXPECT_EQ(error.facts().shortage, Shortage::kDevice);
        EXPECT_EQ(error.facts().capacity_bytes, capacity_bytes);
      }
      EXPECT_EQ(experiment.memory.statistics().allocated_bytes, allocated);
    }
  }
}

}  // namespace
}  // namespace skyline
