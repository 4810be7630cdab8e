#include "framework/ops/connection/embedding.h"

#include <gtest/gtest.h>

#include <limits>

#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/embedding.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

// With fewer words than rows some occur more than once; with more, some never do.
void check(std::int64_t rows, std::int64_t words, std::int64_t features, std::uint64_t seed) {
  check_op({.apply =
                [](Context& context, std::vector<Tensor> x) {
                  return embedding(context, std::move(x[0]), std::move(x[1]));
                },
            .reference =
                [](const std::vector<HostTensor>& x) { return reference::embedding(x[0], x[1]); },
            .inputs = {random_labels(rows, words, seed), random_tensor({words, features}, seed, 1)},
            .derivatives_per_input = 50,
            .seed = seed});
}

TEST(Embedding, MatchesReference) { check(9, 4, 3, 321); }
TEST(Embedding, MatchesReferenceWhereWordsDoNotOccur) { check(4, 31, 5, 322); }
TEST(Embedding, MatchesReferenceOnOneWord) { check(7, 1, 2, 323); }
TEST(Embedding, MatchesReferenceWhenParallel) { check(131, 131, 127, 324); }

TEST(Embedding, NamesTheRowOfAnIdOutOfRange) {
  for (const std::int32_t id : {-1, 2, std::numeric_limits<std::int32_t>::min()}) {
    RecordedContext recorded;
    const std::vector<std::int32_t> ids = {1, 0, id};
    const std::vector<float> table(6);
    Tensor x = recorded.context.upload({Shape{3}, DType::kInt32}, ids.data());
    Tensor y = recorded.context.upload({{2, 3}}, table.data());
    try {
      const Tensor rows = embedding(recorded.context, std::move(x), std::move(y));
      std::vector<float> values(9);  // on a CUDA device the host hears of it here
      recorded.context.download(rows, values.data());
      FAIL() << "no error";
    } catch (const WordError& error) {
      EXPECT_EQ(error.row(), 2);
      EXPECT_EQ(error.id(), id);
      EXPECT_EQ(error.words(), 2);
      EXPECT_EQ(error.what(),
                "[embedding] id of row 2, got " + std::to_string(id) + ", expected 0 to 1");
    }
  }
}

TEST(Embedding, WritesNothingBeforeAllIdsAreChecked) {
  const std::int32_t ids[] = {0, 7};
  const std::vector<float> other(4, 1.0f);
  std::vector<float> output(4, 5.0f);
  std::vector<std::byte> workspace(64);
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(ids),
                               reinterpret_cast<const std::byte*>(other.data())};
  std::byte* outputs[] = {reinterpret_cast<std::byte*>(output.data())};
  const EmbeddingProblem problem{.rows = 2, .words = 2, .features = 2};
  EXPECT_THROW(make_embedding_cpu(problem)->run({inputs, outputs}), WordError);
  EXPECT_THROW(make_embedding_grad_cpu(problem)->run({inputs, outputs, workspace.data()}),
               WordError);
  EXPECT_EQ(output, std::vector<float>(4, 5.0f));
}

// Two sentences' words in one step: the table is a parameter with two consumers.
TEST(Embedding, GradientsOfTwoUsesAddUp) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter table = make_parameter(context, {{3, 2}}, "table", std::vector<float>(6).data());
  const std::vector<std::int32_t> ids = {2, 0, 2};
  const auto use = [&] {
    Tensor x = context.upload({Shape{3}, DType::kInt32}, ids.data());
    return total(context, embedding(context, std::move(x), table.value));
  };
  Tensor first = use();
  Tensor both = add(context, std::move(first), use());
  backward(context, std::move(both));
  EXPECT_EQ(RecordedContext::values(table.gradient), (std::vector<float>{2, 2, 0, 0, 4, 4}));
}

TEST(Embedding, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> host(6);
  const Tensor ids = context.upload({Shape{2}, DType::kInt32}, host.data());
  const Tensor table = context.upload({{2, 3}}, host.data());
  EXPECT_THROW(embedding(context, table, table), ShapeError);
  EXPECT_THROW(embedding(context, ids, ids), ShapeError);
  EXPECT_THROW(embedding(context, context.upload({Shape{0}, DType::kInt32}, host.data()), table),
               ShapeError);
}

}  // namespace
}  // namespace skyline
