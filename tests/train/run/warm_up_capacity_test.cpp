// A capacity that holds the plan of a step, but not the warm-up before it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "memory/device/out_of_memory.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/decided_run.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

using namespace tests;

using testing::HasSubstr;

constexpr std::uint64_t kTightPage = 4096;
constexpr const char* kSaidAhead = "planned from a dry run instead";

struct CapacityCase {
  std::string name;
  std::string model;
  std::function<void(TrainOptions&)> change = [](TrainOptions&) {};
};

void PrintTo(const CapacityCase& tested, std::ostream* out) { *out << tested.name; }

std::vector<CapacityCase> capacity_cases() {
  const auto text = [](ShapePolicy policy) {
    return [policy](TrainOptions& options) { options.memory.policy = policy; };
  };
  return {
      {"lenet", "lenet"},
      {"resnet20", "resnet20"},
      {"grow", "resnet20", text(ShapePolicy::kGrow)},
      {"micro_batches", "resnet20", [](TrainOptions& o) { o.step.micro_batches = 2; }},
      {"recompute", "resnet20", [](TrainOptions& o) { o.step.recompute = 3; }},
      {"least_order", "resnet20", [](TrainOptions& o) { o.step.order = "optimal"; }},
      {"long_warm_up", "lenet", [](TrainOptions& o) { o.memory.warmup_steps = 3; }},
      {"guards", "lenet", [](TrainOptions& o) { o.memory.guard = true; }},
      {"text_grow", "seq2seq", text(ShapePolicy::kGrow)},
      {"text_per_shape", "seq2seq", text(ShapePolicy::kPerShape)},
      {"text_word_by_word", "seq2seq",
       [](TrainOptions& o) {
         o.memory.policy = ShapePolicy::kPerShape;
         o.text.unroll = true;
       }},
  };
}

TrainOptions options_of(const CapacityCase& tested, std::optional<std::uint64_t> capacity = {}) {
  TrainOptions options;
  options.model = tested.model;
  options.data.images = 48;
  options.data.test_images = 20;
  options.text.pairs = 48;
  options.text.units = 16;
  options.text.dropout = 0.2;
  options.text.val_pairs = 8;
  options.batch_size = 8;
  options.steps = 5;
  options.threads = 1;
  options.memory.capacity_bytes = capacity;
  options.memory.check = true;
  tested.change(options);
  return resolved(options);
}

struct CapacityBits {
  std::vector<double> losses;  // of steps and evaluations
  std::string tensors;
  std::uint64_t next_stream = 0;
  bool operator==(const CapacityBits&) const = default;
};

// A run with its data, in the sequence of these acts: a step, or an evaluation.
enum class RunAct { kStep, kEvaluation };
using RunActs = std::vector<RunAct>;

struct CapacityRun {
  explicit CapacityRun(const TrainOptions& given)
      : options(given),
        decided(decided_workload(options, {}, console)),
        run(tests::run_on(decided, options.memory)) {
    decided.workload->prepare();
    run->seek({}, options.data.seed);
  }

  CapacityBits bits_after(const RunActs& acts) {
    CapacityBits bits;
    std::int64_t step = 0;
    for (const RunAct act : acts) {
      if (act == RunAct::kStep) {
        run->next();
        bits.losses.push_back(run->train_step({.learning_rate = 0.01f, .step = ++step}));
      } else {
        for (const auto& [name, value] : run->evaluate(step, {}).metrics) {
          bits.losses.push_back(value);
        }
      }
    }
    std::vector<Tensor> tensors = values_of(run->network().parameters());
    for (const Tensor& value : values_of(run->network().buffers())) tensors.push_back(value);
    for (const Tensor& value : values_of(run->optimizer_state())) tensors.push_back(value);
    bits.tensors = tensors_sha256(run->context, tensors);
    bits.next_stream = run->context.random().next;
    return bits;
  }

  std::ostringstream messages;
  Console console{messages, {}};
  TrainOptions options;
  DecidedWorkload decided;
  std::unique_ptr<ModelRun> run;
};

class WarmUpCapacity : public testing::TestWithParam<CapacityCase> {
 protected:
  // What the plan and what stays take: the first capacity that is not refused.
  static std::uint64_t planned_bytes() {
    try {
      CapacityRun(options_of(GetParam(), kTightPage));
    } catch (const OutOfMemory& refusal) {
      return refusal.facts().requested_bytes;
    }
    ADD_FAILURE() << "trained within a page";
    return 0;
  }

  // Trains within capacities from the plan's need to what needs no plan in time.
  static void expect_equal_bits(const RunActs& acts) {
    const CapacityBits expected = CapacityRun(options_of(GetParam())).bits_after(acts);
    const std::uint64_t least = planned_bytes();
    std::vector<std::uint64_t> capacities = {least, least + 1, least + kTightPage};
    for (std::uint64_t part = 1; part <= 8; part += runs_at_night() ? 1 : part) {
      capacities.push_back(least + least * part / 4);
    }
    for (const std::uint64_t capacity : capacities) {
      SCOPED_TRACE(capacity);
      CapacityRun tight(options_of(GetParam(), capacity));
      EXPECT_EQ(tight.bits_after(acts), expected);
      EXPECT_LE(tight.run->memory.statistics().peak_reserved_bytes, capacity);
      if (capacity == least) {
        EXPECT_THAT(tight.messages.str(), HasSubstr(kSaidAhead));
        EXPECT_EQ(tight.run->memory.statistics().peak_reserved_bytes, least);
      }
    }
  }
};

TEST_P(WarmUpCapacity, HoldsARunWhereItHoldsThePlan) {
  using enum RunAct;
  expect_equal_bits({kStep, kStep, kStep, kEvaluation, kStep, kStep, kEvaluation});
}

// As in a resumed run whose evaluation was cut, and in short epochs with a long warm-up.
TEST_P(WarmUpCapacity, HoldsAnEvaluationBeforeOrWithinTheWarmUp) {
  using enum RunAct;
  expect_equal_bits({kEvaluation, kStep, kEvaluation, kStep, kStep, kEvaluation});
}

TEST_P(WarmUpCapacity, IsRefusedBeforeTheFirstStepWhereItHoldsNoPlan) {
  const std::uint64_t least = planned_bytes();
  for (const std::uint64_t capacity :
       {least - 1, least - kTightPage, least / 2, std::uint64_t{1}}) {
    try {
      CapacityRun(options_of(GetParam(), capacity));
      FAIL() << capacity;
    } catch (const OutOfMemory& refusal) {
      const std::string sentence = refusal.what();
      EXPECT_THAT(sentence, HasSubstr(std::to_string(least) + " bytes for the plan of a step"));
      EXPECT_THAT(sentence, HasSubstr("a warm-up in the pool"));
      EXPECT_THAT(sentence, HasSubstr("capacity " + std::to_string(capacity)));
    }
  }
}

TEST_P(WarmUpCapacity, IsNotAskedForOtherRuns) {
  TrainOptions options = options_of(GetParam());
  EXPECT_THAT(CapacityRun(options).messages.str(), testing::Not(HasSubstr(kSaidAhead)));
  options = options_of(GetParam(), std::uint64_t{1} << 28);
  EXPECT_THAT(CapacityRun(options).messages.str(), testing::Not(HasSubstr(kSaidAhead)))
      << "the warm-up fits, too";
  options = options_of(GetParam(), 2 * planned_bytes());
  options.memory.allocator = "best-fit-pool";
  EXPECT_THAT(CapacityRun(options).messages.str(), testing::Not(HasSubstr(kSaidAhead)));
}

INSTANTIATE_TEST_SUITE_P(Runs, WarmUpCapacity, testing::ValuesIn(capacity_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace skyline
