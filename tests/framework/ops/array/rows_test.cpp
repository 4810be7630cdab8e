#include "framework/ops/array/rows.h"

#include <gtest/gtest.h>

#include "framework/backward/backward_graph.h"
#include "framework/graph_text.h"
#include "framework/ops/support/declared_op.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

// Concatenates the rows of all inputs and returns those that `rows` names.
HostTensor take(const std::vector<HostTensor>& xs, const std::vector<std::int32_t>& rows) {
  const std::int64_t width = xs[0].shape[1];
  std::vector<double> joined;
  for (const HostTensor& x : xs) joined.insert(joined.end(), x.values.begin(), x.values.end());
  HostTensor y({static_cast<std::int64_t>(rows.size()), width});
  for (std::int64_t k = 0; k < y.shape[0]; ++k) {
    for (std::int64_t j = 0; j < width; ++j) {
      y.at(k, j) = joined[static_cast<std::size_t>(rows[static_cast<std::size_t>(k)] * width + j)];
    }
  }
  return y;
}

using Apply = std::function<Tensor(Context&, std::vector<Tensor>)>;

void check(Apply apply, std::vector<HostTensor> inputs, std::vector<std::int32_t> rows,
           std::uint64_t seed) {
  check_op({.apply = std::move(apply),
            .reference = [rows](const std::vector<HostTensor>& xs) { return take(xs, rows); },
            .inputs = std::move(inputs),
            .derivatives_per_input = 50,
            .seed = seed});
}

std::vector<std::int32_t> range(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> rows;
  for (std::int32_t k = 0; k < count; ++k) rows.push_back(first + k);
  return rows;
}

TEST(Rows, SliceTakesRows) {
  check([](Context& context,
           std::vector<Tensor> x) { return slice_rows(context, std::move(x[0]), 1, 3); },
        {random_tensor({6, 5}, 331)}, range(1, 3), 331);
  check([](Context& context,
           std::vector<Tensor> x) { return slice_rows(context, std::move(x[0]), 0, 6); },
        {random_tensor({6, 5}, 332)}, range(0, 6), 332);
}

TEST(Rows, SliceTakesRowsWhenParallel) {
  check([](Context& context,
           std::vector<Tensor> x) { return slice_rows(context, std::move(x[0]), 3, 90); },
        {random_tensor({101, 211}, 333)}, range(3, 90), 333);
}

TEST(Rows, ConcatJoinsRows) {
  check(
      [](Context& context, std::vector<Tensor> xs) { return concat_rows(context, std::move(xs)); },
      {random_tensor({2, 3}, 334, 0), random_tensor({1, 3}, 334, 1), random_tensor({4, 3}, 334, 2)},
      range(0, 7), 334);
  check(
      [](Context& context, std::vector<Tensor> xs) { return concat_rows(context, std::move(xs)); },
      {random_tensor({2, 3}, 335)}, range(0, 2), 335);
}

TEST(Rows, PermutePutsRowsInAnotherOrder) {
  const std::vector<std::int32_t> rows = {3, 0, 4, 1, 2};
  check([rows](Context& context,
               std::vector<Tensor> x) { return permute_rows(context, std::move(x[0]), rows); },
        {random_tensor({5, 3}, 336)}, rows, 336);
}

// Uses the parts in another order, one of them twice, one not at all.
TEST(Rows, SplitCutsAndBackwardJoins) {
  check(
      [](Context& context, std::vector<Tensor> x) {
        std::vector<Tensor> parts = split_rows(context, std::move(x[0]), {2, 1, 3});
        return concat_rows(context, operands(parts[2], parts[0], parts[2]));
      },
      {random_tensor({6, 4}, 337)}, {3, 4, 5, 0, 1, 3, 4, 5}, 337);
}

TEST(Rows, BackwardOfASplitIsOneOp) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter x = make_parameter(context, {{4, 2}}, "x", std::vector<float>(8).data());
  std::vector<Tensor> parts = split_rows(context, x.value, {1, 1, 1, 1});
  BackwardGraph graph(context, total(context, concat_rows(context, std::move(parts))));
  std::size_t joins = 0;
  for (const BackwardStep& step : graph.steps()) joins += step.op->name() == "split_rows_grad";
  EXPECT_EQ(joins, 1u);
  graph.run(context);
  EXPECT_EQ(RecordedContext::values(x.gradient), std::vector<float>(8, 1));
}

class RowsRefusal : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape) {
    const std::vector<float> host(static_cast<std::size_t>(shape.elements()));
    return recorded_.context.upload({shape}, host.data());
  }
  template <typename Call>
  void expect(const std::string& message, const Call& call) {
    try {
      call();
      FAIL() << "no error";
    } catch (const ShapeError& error) {
      EXPECT_EQ(error.what(), message);
    }
  }
  RecordedContext recorded_;
  Context& context_ = recorded_.context;
};

TEST_F(RowsRefusal, NamesWhatDoesNotFit) {
  expect("[slice_rows] rows, got 2 to 4, expected at least one of 0 to 3", [this] {
    slice_rows(context_, tensor({4, 2}), 2, 3);
  });
  expect("[slice_rows] rows, got 2 to 1, expected at least one of 0 to 3", [this] {
    slice_rows(context_, tensor({4, 2}), 2, 0);
  });
  expect("[slice_rows] x, got f32[4], expected f32 of rank 2",
         [this] { slice_rows(context_, tensor(Shape{4}), 0, 1); });
  expect("[split_rows] sum of the counts, got 3, expected 4", [this] {
    split_rows(context_, tensor({4, 2}), {1, 2});
  });
  expect("[split_rows] count, got 0, expected at least 1", [this] {
    split_rows(context_, tensor({4, 2}), {4, 0});
  });
  expect("[concat_rows] number of inputs, got 0, expected at least 1",
         [this] { concat_rows(context_, {}); });
  expect("[concat_rows] input 1, got f32[2, 3], expected f32[2, 2]", [this] {
    concat_rows(context_, {tensor({4, 2}), tensor({2, 3})});
  });
  expect("[permute_rows] number of rows, got 2, expected 4", [this] {
    permute_rows(context_, tensor({4, 2}), {0, 1});
  });
  expect("[permute_rows] row 1, got 0, expected each of 0 to 1 once", [this] {
    permute_rows(context_, tensor({2, 2}), {0, 0});
  });
  expect("[permute_rows] row 0, got -1, expected each of 0 to 1 once", [this] {
    permute_rows(context_, tensor({2, 2}), {-1, 0});
  });
}

}  // namespace
}  // namespace skyline
