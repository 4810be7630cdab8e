#include "framework/ops/recurrent/lstm_products_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/ops/support/panel_products.h"
#include "tests/framework/host_tensor.h"

namespace skyline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<float> floats(const HostTensor& tensor) {
  return {tensor.values.begin(), tensor.values.end()};
}

struct LstmProductCase {
  std::int64_t rows, in, out;
  bool transposed, add;
};

void check(const LstmProductCase& problem) {
  const auto [rows, in, out, transposed, add] = problem;
  const HostTensor x = random_tensor({rows, in}, 371, 0);
  const HostTensor weight = random_tensor(transposed ? Shape{out, in} : Shape{in, out}, 371, 1);
  const HostTensor y = random_tensor({rows, out}, 371, 3);
  PackedProduct product({in, out, transposed, add});
  product.plan(rows);
  std::vector<std::byte> packed(product.packed_bytes()), scratch(product.scratch_bytes());
  const std::vector<float> x_host = floats(x), weight_host = floats(weight);
  std::vector<float> y_host = floats(y);
  product.run(rows,
              {.x = x_host.data(),
               .weight = product.pack(weight_host.data(), packed.data(), scratch.data()),
               .y = y_host.data()},
              scratch.data());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < out; ++column) {
      double expected = add ? y.at(row, column) : 0;
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
    check({rows, 33, 20, true, true});
    check({rows, 20, 5, false, false});
  }
  check({40, 256, 1029, true, true});  // by several threads, with a last panel that is not whole
}

// Without AVX-512 the library computes none of these products, so there is nothing to ask it.
bool products_are_ours() { return runs_avx2() && !runs_avx512(); }

// oneDNN silently falls back to reference kernels, which are hundreds of times slower.
TEST(PackedProduct, RunsOnNoReferenceKernel) {
  if (products_are_ours()) GTEST_SKIP() << "needs AVX-512: products are our own without";
  for (const std::int64_t units : {5, 256, 650, 1024}) {
    PackedProduct forward({.in = units, .out = 4 * units, .transposed = true, .add = true});
    PackedProduct backward({.in = 4 * units, .out = units});
    for (std::int64_t rows = 1; rows <= 64; ++rows) {
      forward.plan(rows);
      backward.plan(rows);
    }
    for (const PackedProduct* product : {&forward, &backward}) {
      EXPECT_THAT(product->implementations(), Each(Not(HasSubstr("ref")))) << units << " units";
    }
  }
}

TEST(PackedProduct, NeedsFewShapesForAnyNumberOfRows) {
  if (products_are_ours()) GTEST_SKIP() << "needs AVX-512: products are our own without";
  PackedProduct product({.in = 8, .out = 32, .transposed = true, .add = true});
  for (std::int64_t rows = 1; rows <= 4096; ++rows) product.plan(rows);
  EXPECT_LE(product.implementations().size(), 4096u / 64 + 63);
}

}  // namespace
}  // namespace skyline
