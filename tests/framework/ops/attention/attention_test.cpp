#include "framework/ops/attention/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/framework/op_check.h"
#include "tests/framework/op_check_ops.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/attention.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

struct Heads {
  std::int64_t sequences, words, heads, size;
  double magnitude = 1;
  double tolerance = 1e-6;
};

void check_attention(const Heads& c) {
  SCOPED_TRACE(testing::Message() << c.sequences << " x " << c.words << " words, " << c.heads
                                  << " heads of " << c.size);
  constexpr std::uint64_t kSeed = 431;
  const AttentionParams params{.sequences = c.sequences, .heads = c.heads};
  check_op(
      {.apply = [=](Context& context,
                    std::vector<Tensor> x) { return attention(context, std::move(x[0]), params); },
       .reference =
           [=](const std::vector<HostTensor>& x) { return reference::attention(x[0], params); },
       .inputs = {random_tensor({c.sequences * c.words, 3 * c.heads * c.size}, kSeed, 0,
                                {-c.magnitude, c.magnitude})},
       .gradient_tolerance = 2e-5,
       .derivatives_per_input = 40,
       .seed = kSeed});
}

TEST(Attention, MatchesReference) {
  check_attention({1, 1, 1, 1});
  check_attention({2, 5, 3, 4});
  check_attention({3, 7, 2, 16});
  check_attention({1, 64, 1, 32});
}
// Several tiles of queries and keys, the last ones ragged; heads wider than a panel.
TEST(Attention, MatchesReferenceOnSeveralTiles) {
  check_attention({1, 65, 1, 4});
  check_attention({1, 66, 1, 40});
}
TEST(Attention, MatchesReferenceWhenParallel) { check_attention({2, 130, 2, 7}); }
// Scores of up to 50 have roundings of 2e-6, which exponentials take over.
TEST(Attention, MatchesReferenceWhereFewKeysCount) { check_attention({1, 70, 1, 8, 4, 4e-6}); }

// The first word sees itself alone.
TEST(Attention, TheFirstWordsResultIsItsValue) {
  RecordedContext run;
  const std::vector<float> qkv = stored_values(random_tensor({4, 12}, 1));
  const Tensor y = attention(run.context, run.context.upload({{4, 12}}, qkv.data()),
                             {.sequences = 2, .heads = 2});
  const std::vector<float> values = RecordedContext::values(y);
  for (const std::size_t word : {0, 2}) {
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(values[word * 4 + c], qkv[word * 12 + 8 + c]);
  }
}

TEST(Attention, NoWordDependsOnLaterOnes) {
  RecordedContext run;
  std::vector<float> qkv = stored_values(random_tensor({100, 24}, 2));
  const auto result = [&] {
    const Tensor y = attention(run.context, run.context.upload({{100, 24}}, qkv.data()), {});
    return RecordedContext::values(y);
  };
  const std::vector<float> before = result();
  std::fill(qkv.begin() + 70 * 24, qkv.end(), 5.0f);
  const std::vector<float> after = result();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 70 * 8, after.begin()));
  EXPECT_NE(before, after);
}

TEST(Attention, PassesNaNOn) {
  RecordedContext run;
  std::vector<float> qkv(3 * 6, 0.5f);
  qkv[6 + 2] = std::numeric_limits<float>::quiet_NaN();  // a key of the second word
  const Tensor y = attention(run.context, run.context.upload({{3, 6}}, qkv.data()), {});
  const std::vector<float> values = RecordedContext::values(y);
  EXPECT_EQ(values[0], 0.5f);
  EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[4]));
}

// Neither scores nor anything else of T x T elements is requested: only y and a number a row, and
// in backward nothing, because the gradient goes over qkv.
TEST(Attention, RequestsNoScores) {
  RecordedContext run({.dry_run = Emulation()});
  const Parameter qkv = make_parameter(run.context, {{512, 48}}, "qkv", nullptr);
  run.context.begin_step();
  Tensor y = attention(run.context, copy(run.context, qkv.value), {.sequences = 1, .heads = 2});
  backward(run.context, weighted_total(run.context, std::move(y), 1));
  const RecordedStep& step = run.context.recorded_step();
  for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
    const StepOp& op = step.graph.ops[k];
    for (const ValueId output : op.outputs) {
      EXPECT_LE(step.graph.values[output].bytes, 512 * 48 * sizeof(float)) << op.name;
    }
    if (op.name == "attention_grad") {
      EXPECT_EQ(step.memory[k][0].input, 0);
    }
  }
}

TEST(Attention, RefusesWhatDoesNotFit) {
  RecordedContext run;
  Context& context = run.context;
  const std::vector<float> host(12 * 800);
  const Tensor qkv = context.upload({{12, 12}}, host.data());
  EXPECT_THROW(attention(context, qkv, {.sequences = 5}), ShapeError);
  EXPECT_THROW(attention(context, qkv, {.sequences = 0}), ShapeError);
  EXPECT_THROW(attention(context, qkv, {.heads = 3}), ShapeError);
  EXPECT_THROW(attention(context, context.upload({{4, 771}}, host.data()), {}), ShapeError);
  EXPECT_THROW(attention(context, context.upload({Shape{12}}, host.data()), {}), ShapeError);
}

}  // namespace
}  // namespace skyline
