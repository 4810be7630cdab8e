#include "framework/ops/recurrent/lstm_products_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/host_tensor.h"

namespace skyline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<float> floats(const HostTensor& tensor) {
  return {tensor.values.begin(), tensor.values.end()};
}

struct Case {
  std::int64_t rows, in, out;
  bool transposed;
  PackedProduct::Result result;
};

void check(const Case& problem) {
  const auto [rows, in, out, transposed, result] = problem;
  const HostTensor x = random_tensor({rows, in}, 371, 0);
  const HostTensor weight = random_tensor(transposed ? Shape{out, in} : Shape{in, out}, 371, 1);
  const HostTensor bias = random_tensor(Shape{out}, 371, 2), y = random_tensor({rows, out}, 371, 3);
  PackedProduct product({in, out, transposed, result});
  product.plan(rows);
  std::vector<std::byte> packed(product.packed_bytes()), scratch(product.scratch_bytes());
  const PackedProduct::Workspace workspace{packed.data(), scratch.data()};
  const std::vector<float> x_host = floats(x), bias_host = floats(bias);
  std::vector<float> y_host = floats(y);
  product.pack(floats(weight).data(), workspace);
  product.run(rows, {x_host.data(), bias_host.data(), y_host.data()}, workspace);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < out; ++column) {
      double expected = result == PackedProduct::Result::kAdd       ? y.at(row, column)
                        : result == PackedProduct::Result::kAddBias ? bias[column]
                                                                    : 0;
      for (std::int64_t k = 0; k < in; ++k) {
        expected += x.at(row, k) * (transposed ? weight.at(column, k) : weight.at(k, column));
      }
      ASSERT_NEAR(y_host[static_cast<std::size_t>(row * out + column)], expected, 1e-4)
          << rows << " x " << in << " x " << out << ", row " << row << ", column " << column;
    }
  }
}

TEST(PackedProduct, EqualsThePlainProduct) {
  for (const std::int64_t rows : {1, 5, 63, 64, 65, 130}) {
    check({rows, 7, 12, true, PackedProduct::Result::kAddBias});
    check({rows, 33, 20, true, PackedProduct::Result::kAdd});
    check({rows, 20, 5, false, PackedProduct::Result::kOverwrite});
  }
}

// oneDNN silently falls back to reference kernels, which are hundreds of times slower.
TEST(PackedProduct, RunsOnNoReferenceKernel) {
  for (const std::int64_t units : {5, 256, 650, 1024}) {
    PackedProduct forward({units, 4 * units, true, PackedProduct::Result::kAdd});
    PackedProduct projection({units, 4 * units, true, PackedProduct::Result::kAddBias});
    PackedProduct backward({4 * units, units, false, PackedProduct::Result::kOverwrite});
    for (std::int64_t rows = 1; rows <= 64; ++rows) {
      forward.plan(rows);
      projection.plan(rows + 192);
      backward.plan(rows);
    }
    for (const PackedProduct* product : {&forward, &projection, &backward}) {
      EXPECT_THAT(product->implementations(), Each(Not(HasSubstr("ref")))) << units << " units";
    }
    EXPECT_THAT(WeightProduct(1600, 4 * units, units).implementations(),
                Each(Not(HasSubstr("ref"))));
  }
}

TEST(PackedProduct, NeedsFewShapesForAnyNumberOfRows) {
  PackedProduct product({8, 32, true, PackedProduct::Result::kAddBias});
  for (std::int64_t rows = 1; rows <= 4096; ++rows) product.plan(rows);
  EXPECT_LE(product.implementations().size(), 4096u / 64 + 63);
}

}  // namespace
}  // namespace skyline
