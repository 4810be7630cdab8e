#include "framework/ops/recurrent/lstm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "framework/ops/array/rows.h"
#include "framework/ops/support/declared_op.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/lstm.h"

namespace skyline {
namespace {

// Returns rows of h, then rows of c. With zero weights a word's gates are its biases.
HostTensor reference_cell(const HostTensor& gates, const HostTensor& c) {
  const std::int64_t rows = c.shape[0], units = c.shape[1];
  HostTensor h(c.shape), c_after(c.shape);
  for (std::int64_t row = 0; row < rows; ++row) {
    reference::LstmLayer layer{.w = HostTensor({4 * units, 1}),
                               .u = HostTensor({4 * units, units}),
                               .bias_w = HostTensor(Shape{4 * units}),
                               .bias_u = HostTensor(Shape{4 * units})};
    reference::LstmWord before{.h = std::vector<double>(static_cast<std::size_t>(units))};
    for (std::int64_t j = 0; j < 4 * units; ++j) layer.bias_w[j] = gates.at(row, j);
    for (std::int64_t j = 0; j < units; ++j) before.c.push_back(c.at(row, j));
    const reference::LstmWord after = reference::lstm_word(layer, {0}, before);
    for (std::int64_t j = 0; j < units; ++j) {
      h.at(row, j) = after.h[static_cast<std::size_t>(j)];
      c_after.at(row, j) = after.c[static_cast<std::size_t>(j)];
    }
  }
  return reference::concat_rows({h, c_after});
}

void check(std::int64_t rows, std::int64_t units, std::uint64_t seed) {
  check_op(
      {.apply =
           [](Context& context, std::vector<Tensor> x) {
             LstmCellOutput cell = lstm_cell(context, std::move(x[0]), std::move(x[1]));
             return concat_rows(context, operands(std::move(cell.h), std::move(cell.c)));
           },
       .reference = [](const std::vector<HostTensor>& x) { return reference_cell(x[0], x[1]); },
       .inputs = {random_tensor({rows, 4 * units}, seed, 0, {-4, 4}),
                  random_tensor({rows, units}, seed, 1, {-2, 2})},
       .derivatives_per_input = 60,
       .seed = seed});
}

TEST(LstmCell, MatchesReference) { check(3, 5, 341); }
TEST(LstmCell, MatchesReferenceOnOneUnit) { check(1, 1, 342); }
TEST(LstmCell, MatchesReferenceWhenParallel) { check(29, 40, 343); }

TEST(LstmCell, StaysFiniteForHugeSums) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> sums = {1e30f, -1e30f, 1e30f, 1e30f};
  const std::vector<float> before = {3};
  const LstmCellOutput cell = lstm_cell(context, context.upload({{1, 4}}, sums.data()),
                                        context.upload({{1, 1}}, before.data()));
  EXPECT_EQ(RecordedContext::values(cell.c), std::vector<float>{1});
  EXPECT_NEAR(RecordedContext::values(cell.h).front(), std::tanh(1.0), 1e-6);
}

// Writes activated gates over the sums and, in inference, the cells over the cells before.
TEST(LstmCell, NeedsMemoryForWhatIsNewOnly) {
  RecordedContext recorded({.mode = Mode::kInference});
  Context& context = recorded.context;
  const std::vector<float> host(8);
  Tensor gates = context.upload({{2, 4}}, host.data());
  Tensor c = context.upload({{2, 1}}, host.data());
  const std::uint64_t requests = recorded.pool.statistics().requests;
  lstm_cell(context, std::move(gates), std::move(c));
  EXPECT_EQ(recorded.pool.statistics().requests - requests, 1u) << recorded.refusals();
}

TEST(LstmCell, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  const std::vector<float> host(12);
  Tensor gates = recorded.context.upload({{2, 6}}, host.data());
  Tensor c = recorded.context.upload({{2, 2}}, host.data());
  try {
    lstm_cell(recorded.context, std::move(gates), std::move(c));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[lstm_cell] gates, got f32[2, 6], expected f32[2, 8]");
  }
}

}  // namespace
}  // namespace skyline
