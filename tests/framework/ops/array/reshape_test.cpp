#include "framework/ops/array/reshape.h"

#include <gtest/gtest.h>

#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

HostTensor flatten_reference(const HostTensor& x) {
  HostTensor y({x.shape[0], x.elements() / x.shape[0]});
  y.values = to_memory_order(x);
  return y;
}

TEST(Reshape, FlattensImagesInTheOrderOfMemory) {
  check_op({.apply = [](Context& context,
                        std::vector<Tensor> x) { return flatten(context, std::move(x[0])); },
            .reference = [](const std::vector<HostTensor>& x) { return flatten_reference(x[0]); },
            .inputs = {random_tensor({2, 3, 4, 5}, 41)},
            .seed = 41});
}

TEST(Reshape, FlattensWithColumnsInTheOrderHeightWidthChannel) {
  RecordedContext recorded;
  HostTensor x({1, 2, 2, 1});
  x.values = {1, 2, 3, 4};  // channel 0 holds 1 above 2, channel 1 holds 3 above 4
  const std::vector<double> stored = to_memory_order(x);
  const std::vector<float> host(stored.begin(), stored.end());
  const Tensor y = flatten(recorded.context, recorded.context.upload({x.shape}, host.data()));
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  EXPECT_EQ(RecordedContext::values(y), (std::vector<float>{1, 3, 2, 4}));
}

TEST(Reshape, SharesTheBytesOfItsInputAndRequestsNone) {
  RecordedContext recorded;
  const Tensor x = recorded.upload_vector({1, 2, 3, 4, 5, 6});
  const std::uint64_t requests = recorded.pool.statistics().requests;
  const Tensor y = reshape(recorded.context, x, {2, 3});
  EXPECT_EQ(y.address(), x.address());
  EXPECT_EQ(recorded.pool.statistics().requests, requests);
}

TEST(Reshape, KeepsIntegers) {
  RecordedContext recorded;
  const std::vector<std::int32_t> host = {1, 2};
  const TensorSpec spec{Shape{2}, DType::kInt32};
  const Tensor y = reshape(recorded.context, recorded.context.upload(spec, host.data()), {2, 1});
  EXPECT_EQ(y.spec(), (TensorSpec{{2, 1}, DType::kInt32}));
}

TEST(Reshape, RefusesAnotherNumberOfElements) {
  RecordedContext recorded;
  Tensor x = recorded.upload_vector({1, 2, 3});
  try {
    reshape(recorded.context, std::move(x), {2, 2});
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "[reshape] target shape, got [2, 2], expected 3 elements, as in [3]");
  }
}

TEST(Reshape, FlattenRefusesAScalar) {
  RecordedContext recorded;
  const float host = 1;
  Tensor x = recorded.context.upload({Shape{}}, &host);
  EXPECT_THROW(flatten(recorded.context, std::move(x)), ShapeError);
}

}  // namespace
}  // namespace skyline
