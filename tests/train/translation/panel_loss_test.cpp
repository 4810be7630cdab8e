// Sentences of many words from a large vocabulary, whose loss goes in panels: no choice of memory
// or workers changes a bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "framework/ops/loss/linear_cross_entropy.h"
#include "memory/order/order.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/temporary_folder.h"
#include "tests/train/translation/budgeted_text.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"
#include "train/options/memory_options.h"
#include "train/trainer.h"

namespace skyline {
namespace {

using namespace tests;

constexpr std::int64_t kPanelSteps = 5;  // of an epoch
constexpr int kPanelWords = 1500, kPanelSentence = 16, kPanelPairs = 126;

class LossInPanels : public ::testing::Test {
 protected:
  LossInPanels() {
    write_atomically(folder_ / "pairs.tsv", pairs());
    options_.model = "seq2seq";
    options_.data.data = folder_ / "pairs.tsv";
    options_.batch_size = 24;
    options_.threads = 1;
    options_.steps = kPanelSteps;
    options_.checkpoint_every = 3;
    options_.text.layers = 1;
    options_.text.units = 16;
    options_.text.clip = 0;
    options_.text.val_pairs = 8;
    options_.memory.allocator = "best-fit-pool";
  }

  // Every word is one of 1,500, so that most occur.
  static std::string pairs() {
    std::mt19937 random(5);
    const auto sentence = [&] {
      std::string text;
      for (int i = 0; i < kPanelSentence; ++i) {
        const auto word = random() % kPanelWords;
        for (const auto letter : {word / 676, word / 26 % 26, word % 26}) {
          text += static_cast<char>('a' + letter);
        }
        text += ' ';
      }
      return text;
    };
    std::string text;
    for (int i = 0; i < kPanelPairs; ++i) text += sentence() + '\t' + sentence() + '\n';
    return text;
  }

  static TextBits bits(const TrainOptions& options) {
    return BudgetedText(options).train(kPanelSteps);
  }
  // The same, planned and checked.
  TrainOptions planned() const {
    TrainOptions options = options_;
    options.memory = {.allocator = "planned", .guard = true, .check = true};
    return options;
  }

  TemporaryFolder folder_;
  TrainOptions options_;
};

TEST_F(LossInPanels, IsWhatSuchAStepTakes) {
  const DryRunFacts step = longest_step(BudgetedText(options_).decided);
  const auto loss = std::ranges::find(step.step.graph.ops, kLinearCrossEntropy, &StepOp::name);
  ASSERT_NE(loss, step.step.graph.ops.end());
  const Shape& x = step.step.values[loss->inputs[0]].spec.shape;
  const Shape& weight = step.step.values[loss->inputs[1]].spec.shape;
  EXPECT_GT(x[0], 3 * 128);
  EXPECT_GT(weight[0], 1000);
  const auto logits = TensorSpec{{x[0], weight[0]}}.bytes();
  for (const StepOp& op : step.step.graph.ops) EXPECT_LT(op.workspace_bytes, logits) << op.name;
  for (const StepValue& value : step.step.graph.values) EXPECT_LT(value.bytes, logits);
}

TEST_F(LossInPanels, HasTheSameBitsUnderEveryAllocator) {
  const TextBits expected = bits(options_);
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  for (const std::string& allocator : allocator_names()) {
    TrainOptions options = options_;
    options.memory = {.allocator = allocator, .guard = true, .check = true};
    EXPECT_EQ(bits(options), expected) << allocator;
  }
}

TEST_F(LossInPanels, HasTheSameBitsInEveryOrder) {
  const TextBits expected = bits(options_);
  for (const OrderEntry& order : order_algorithms()) {
    for (const bool fused : {false, true}) {
      TrainOptions options = planned();
      options.step.order = order.name;
      options.step.fused_update = fused;
      EXPECT_EQ(bits(options), expected) << order.name << fused;
    }
  }
  TrainOptions apart = planned();
  apart.step.in_place = false;
  EXPECT_EQ(bits(apart), expected);
}

TEST_F(LossInPanels, HasTheSameBitsWithinEveryBudget) {
  const TextBits expected = bits(options_);
  const BudgetAnswer all =
      *BudgetedText(within(planned(), std::uint64_t{1} << 40)).decided.decisions.budget;
  for (int part = 0; part <= 4; ++part) {
    TrainOptions options = planned();
    options.device.lanes = part % 2 + 1;
    const std::uint64_t bytes =
        all.least_bytes + 4096 +
        static_cast<std::uint64_t>(part) * (all.unlimited_bytes - all.least_bytes) / 4;
    options.memory.guard = false;  // guard bytes are not the step's
    BudgetedText run(within(options, bytes));
    EXPECT_EQ(run.train(kPanelSteps), expected) << bytes;
    EXPECT_LE(run.peak_reserved(), bytes);
  }
}

// An op's threads may change bits, as oneDNN divides some products among them.
TEST_F(LossInPanels, HasTheSameBitsOnLanes) {
  for (const std::int64_t threads : {1, 2}) {
    TrainOptions options = planned();
    options.threads = threads;
    const TextBits expected = bits(options);
    options.device.lanes = 2;
    EXPECT_EQ(bits(options), expected) << threads;
  }
}

TEST_F(LossInPanels, GoesOnWithTheSameBits) {
  std::ostringstream messages;
  Console console{messages, {}};
  const auto trained = [&](const char* name, const char* from) {
    Trainer trainer(resolved(options_), {}, console);
    if (from == nullptr) {
      trainer.start(folder_ / name);
    } else {
      trainer.resume(load_checkpoint(folder_ / name / "checkpoints" / from));
    }
    trainer.run();
    return read_file(folder_ / name / "checkpoints/latest/weights.safetensors");
  };
  const std::string whole = trained("whole", nullptr);
  std::filesystem::copy(
      folder_ / "whole", folder_ / "cut",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  std::filesystem::remove_all(std::filesystem::canonical(folder_ / "cut/checkpoints/latest"));
  EXPECT_EQ(trained("cut", "step-000000003"), whole);
}

}  // namespace
}  // namespace skyline
