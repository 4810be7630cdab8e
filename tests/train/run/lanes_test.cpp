// Ops on several lanes give the bits, the requests and the errors of one lane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>

#include "framework/lanes/lane_runner.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/images/paper_training.h"
#include "tests/train/translation/small_translation.h"
#include "train/options/memory_options.h"
#include "train/options/step_options.h"

namespace skyline {
namespace {

using namespace tests;

constexpr std::size_t kLaneSteps = StepLanes::kStepsBefore + 4;

Context::Options on_lanes(std::size_t lanes, const StepOptions& step = {}) {
  Context::Options options = context_options(step);
  options.seed = seeded().seed;
  options.compute = std::make_shared<CpuCompute>(
      CpuOptions{.lanes = lanes, .wake_seconds = 0, .lanes_must_pay = false});
  return options;
}

struct Bits {
  std::vector<float> losses;
  std::string parameters;
  bool operator==(const Bits&) const = default;
};

// Stops the threads of lanes in the middle of what they do, at random, for up to 0.2 ms each, as a
// busy machine does.
class RandomDelays {
 public:
  explicit RandomDelays(LaneQueue& queue) {
    for (std::size_t lane = 0; lane < queue.lanes(); ++lane) {
      queue.enqueue(lane, {}, {}, [this] { register_thread(); });
    }
    queue.wait();
    struct sigaction sleep = {};
    sleep.sa_handler = [](int) {
      const timespec delay{.tv_sec = 0, .tv_nsec = nanoseconds_};
      nanosleep(&delay, nullptr);
      ++delays_;
    };
    sleep.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGUSR1, &sleep, &before_);
    delays_ = 0;
    delayer_ = std::jthread([this](std::stop_token stop) { delay_threads(stop); });
  }
  ~RandomDelays() {
    delayer_.request_stop();
    delayer_.join();
    // A signal that was sent may still come.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sigaction(SIGUSR1, &before_, nullptr);
  }

  static int count() { return delays_; }

 private:
  // In a oneDNN product the stack pointer does not point to the stack; see train/cli/interrupt.h.
  void register_thread() {
    thread_local std::array<char, 65536> memory;
    const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
    sigaltstack(&stack, nullptr);
    const std::lock_guard lock(mutex_);
    threads_.push_back(gettid());
  }

  void delay_threads(const std::stop_token& stop) {
    std::mt19937 random(7);
    while (!stop.stop_requested()) {
      nanoseconds_ = static_cast<long>(random() % 200'000);
      syscall(SYS_tgkill, getpid(), threads_[random() % threads_.size()], SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
  }

  inline static std::atomic<long> nanoseconds_{0};
  inline static std::atomic<int> delays_{0};
  std::mutex mutex_;  // of `threads_` while they register
  std::vector<pid_t> threads_;
  struct sigaction before_ = {};
  std::jthread delayer_;
};

class LanesTest : public ::testing::Test {
 protected:
  LanesTest() { omp_set_num_threads(1); }
  ~LanesTest() override { omp_set_num_threads(threads_before_); }

  static Bits train(const std::string& model, const MemoryOptions& memory,
                    const Context::Options& options, std::size_t steps = kLaneSteps) {
    const ModelShape shape = model == "googlenet"
                                 ? step_shape({.name = model, .smallest_image = 79})
                                 : small_shape(model);
    ImageRun run(memory, options, {.model = model, .shape = shape});
    Bits bits;
    for (const Batch& batch : small_batches(shape, 4, steps)) {
      bits.losses.push_back(run.train_step(batch, small_params()));
    }
    bits.parameters = parameters_sha256(run);
    return bits;
  }

  static Bits translate(bool unroll, const MemoryOptions& memory, const Context::Options& options) {
    const TranslationData data = small_text();
    TranslationRun run(memory, options, small_run(small_seq2seq(data, unroll)));
    Bits bits;
    bits.losses = run_steps(run, small_pair_batches(data, kLaneSteps));
    bits.parameters = parameters_sha256(run);
    return bits;
  }

  int threads_before_ = omp_get_max_threads();
};

TEST_F(LanesTest, GiveTheBitsOfOneLane) {
  for (const std::string model : {"mlp", "lenet", "resnet20", "googlenet"}) {
    const Bits expected = train(model, {}, on_lanes(1));
    ASSERT_NE(expected.losses.front(), expected.losses.back());
    for (const std::size_t lanes : {2, 3, 4}) {
      if (model == "googlenet" && lanes > 2 && !runs_at_night()) continue;
      EXPECT_EQ(train(model, {.check = true}, on_lanes(lanes)), expected) << model << lanes;
    }
  }
}

// One step in which every op is wide, with the extents that the networks are made for; but for
// nights, inception-resnet's images are smaller.
TEST_F(LanesTest, WideOpsGiveTheBitsOfOneLaneAtFullSize) {
  for (const std::string model :
       {"alexnet", "googlenet", "resnet50", "inception-resnet", "mobilenet_v2"}) {
    const auto train_on = [&](std::size_t lanes) {
      const Context::Options options = on_lanes(lanes);
      const ModelShape shape =
          with_images(model, model == "inception-resnet" ? int(cases(107, 299)) : 224);
      ImageRun run({}, options, {.model = model, .shape = shape});
      if (lanes > 1) {
        StepLanes& steps = lane_runner(*options.compute)->steps();
        for (int step = 0; step <= StepLanes::kTimedSteps; ++step) steps.begin(StepKind::kTraining);
      }
      Bits bits;
      bits.losses.push_back(run.train_step(small_batches(shape, 3, 1).front(), small_params()));
      bits.parameters = parameters_sha256(run);
      EXPECT_TRUE(lanes == 1 || lane_runner(*options.compute)->queue().shares() > 0);
      return bits;
    };
    EXPECT_EQ(train_on(2), train_on(1)) << model;
  }
}

TEST_F(LanesTest, GiveTheBitsOfOneLaneUnderEveryAllocator) {
  const Bits expected = train("lenet", {}, on_lanes(1));
  for (const std::string& allocator : allocator_names()) {
    for (const bool guard : {false, true}) {
      EXPECT_EQ(
          train("lenet", {.allocator = allocator, .guard = guard, .check = true}, on_lanes(3)),
          expected)
          << allocator << guard;
    }
  }
}

TEST_F(LanesTest, GiveTheBitsOfOneLaneUnderEveryPolicyAndOrder) {
  const Bits expected = train("resnet20", {}, on_lanes(1));
  for (const ShapePolicy policy :
       {ShapePolicy::kGrow, ShapePolicy::kPerShape, ShapePolicy::kUpperBound}) {
    EXPECT_EQ(train("resnet20", {.policy = policy, .warmup_steps = 2}, on_lanes(2)), expected);
  }
  std::size_t number = 0;
  for (const OrderEntry& order : order_algorithms()) {
    std::size_t way = number++;  // the next one each time; at night all
    for (const auto& [recompute, fused] : {std::pair{0, false}, {0, true}, {3, true}}) {
      if (way++ % 3 != 0 && !runs_at_night()) continue;
      const StepOptions step{
          .recompute = recompute, .fused_update = fused, .order = std::string(order.name)};
      EXPECT_EQ(train("resnet20", {.warmup_steps = 2}, on_lanes(2, step)), expected)
          << order.name << recompute << fused;
    }
  }
}

TEST_F(LanesTest, GiveTheBitsOfOneLaneForAThousandDelayedSteps) {
  for (const std::string model : {"mlp", "lenet"}) {
    const Bits expected = train(model, {}, on_lanes(1), 500);
    for (const std::size_t lanes : {2, 4}) {
      const Context::Options options = on_lanes(lanes);
      const RandomDelays delays(lane_runner(*options.compute)->queue());
      EXPECT_EQ(train(model, {.check = true}, options, 500), expected) << model << lanes;
      EXPECT_GT(RandomDelays::count(), 100);
    }
  }
}

TEST_F(LanesTest, GiveTheBitsOfOneLaneForText) {
  for (const bool unroll : {false, true}) {
    const Bits expected = translate(unroll, {}, on_lanes(1));
    for (const std::size_t lanes : {2, 3, 4}) {
      EXPECT_EQ(translate(unroll, {.check = true}, on_lanes(lanes)), expected) << unroll << lanes;
    }
    EXPECT_EQ(translate(unroll, {.allocator = "network-wise"}, on_lanes(2)), expected);
  }
}

// Threads are those of each lane.
TEST_F(LanesTest, GiveTheBitsOfOneLaneWithTwoThreadsEach) {
  omp_set_num_threads(2);
  EXPECT_EQ(train("lenet", {}, on_lanes(2)), train("lenet", {}, on_lanes(1)));
}

TEST_F(LanesTest, MakeTheRequestsOfOneLane) {
  const ModelShape shape = small_shape("resnet20");
  const auto trace_on = [&](std::size_t lanes) {
    ImageRun run({.allocator = "best-fit-pool"}, on_lanes(lanes),
                 {.model = "resnet20", .shape = shape, .watch = {.record = true}});
    run.context.watch().record_graph = true;
    for (const Batch& batch : small_batches(shape, 4, 4)) run.train_step(batch, small_params());
    EXPECT_TRUE(
        simulate(run.context.step_graph()).same_requests(run.memory.recording()->last_step()))
        << lanes;
    return run.memory.recording()->last_step();
  };
  const Trace expected = trace_on(1), trace = trace_on(3);
  ASSERT_EQ(trace.size(), expected.size());
  for (std::size_t block = 0; block < trace.size(); ++block) {
    EXPECT_EQ(trace.blocks[block].lower, expected.blocks[block].lower);
    EXPECT_EQ(trace.blocks[block].upper, expected.blocks[block].upper);
    EXPECT_GE(trace.blocks[block].bytes, expected.blocks[block].bytes) << "a larger workspace";
  }
}

TEST_F(LanesTest, NameAWrongLabelAndGoOn) {
  const ModelShape shape = small_shape("lenet");
  std::vector<Batch> batches = small_batches(shape, 4, kLaneSteps);
  const auto losses_on = [&](std::size_t lanes) {
    ImageRun run({}, on_lanes(lanes), {.model = "lenet", .shape = shape});
    std::vector<float> losses;
    std::string error;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      Batch batch = batches[i];
      if (i == StepLanes::kStepsBefore) batch.labels[1] = 1000;
      try {
        losses.push_back(run.train_step(batch, small_params()));
      } catch (const std::exception& caught) {
        error = caught.what();
      }
    }
    return std::pair(losses, error);
  };
  const auto expected = losses_on(1);
  EXPECT_THAT(expected.second, testing::HasSubstr("1000"));
  EXPECT_EQ(losses_on(2), expected);
  EXPECT_EQ(losses_on(3), expected);
}

// A device that is too small ends a step anywhere, with ops enqueued.
TEST_F(LanesTest, SurviveAStepThatDoesNotFit) {
  const ModelShape shape = small_shape("lenet");
  const auto outcome_on = [&](std::size_t lanes) {
    ImageRun run({.capacity_bytes = std::uint64_t{3} << 20, .allocator = "network-wise"},
                 on_lanes(lanes), {.model = "lenet", .shape = shape});
    std::vector<float> losses;
    int refused = 0;
    for (const std::size_t size : {4, 4, 4, 512, 4}) {
      try {
        losses.push_back(run.train_step(small_batches(shape, size, 1).front(), small_params()));
      } catch (const OutOfMemory&) {
        ++refused;
      }
    }
    return std::tuple(losses, refused, parameters_sha256(run));
  };
  const auto expected = outcome_on(1);
  EXPECT_EQ(std::get<1>(expected), 1);
  EXPECT_EQ(outcome_on(2), expected);
}

TEST_F(LanesTest, OpsThatAreTimedOrCheckedRunAtOnce) {
  const ModelShape shape = small_shape("lenet");
  const Bits expected = train("lenet", {}, on_lanes(1));
  ImageRun run({}, on_lanes(2), {.model = "lenet", .shape = shape});
  std::vector<OpTime> times;
  std::vector<float> losses;
  for (const Batch& batch : small_batches(shape, 4, kLaneSteps)) {
    run.context.watch().op_times = losses.size() == StepLanes::kStepsBefore + 1 ? &times : nullptr;
    run.context.watch().check_finite = losses.size() == StepLanes::kStepsBefore + 2;
    losses.push_back(run.train_step(batch, small_params()));
  }
  EXPECT_EQ(losses, expected.losses);
  EXPECT_GT(times.size(), 10u);
  for (const OpTime& time : times) EXPECT_GT(time.seconds, 0) << time.name;
}

}  // namespace
}  // namespace skyline
