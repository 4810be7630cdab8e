#include "framework/cuda/cublas/cublas_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"
#include "tests/cuda/scripted_cublas.h"
#include "tests/framework/error_of.h"

// Which of cuBLASLt's algorithms runs, by a stand-in for the library.

namespace skyline {
namespace {

using ::testing::ElementsAre;

class CublasProductsTest : public ::testing::Test {
 protected:
  CublasProductsTest() { script_ = {}; }
  void run(const ProductProblem& problem = {.rows = 4, .columns = 5, .inner = 6}) {
    make_product(compute_, problem)->run({});
  }

  tests::ScriptedCublas& script_ = *scripted_cublas();
  CudaCompute compute_{{.plan_only = true}};  // needs no device
};

TEST_F(CublasProductsTest, TakesTheFirstThatTheHeuristicsFoundValid) {
  script_.invalid = {0};
  run();
  EXPECT_THAT(script_.run, ElementsAre(1));
}

TEST_F(CublasProductsTest, AnAlgorithmThatFailsIsReplacedForGood) {
  script_.failing = {0};
  run();
  run();
  EXPECT_THAT(script_.run, ElementsAre(0, 1, 1));
}

TEST_F(CublasProductsTest, AProductRunsWhatItsFirstRunFound) {
  const auto product = make_product(compute_, {.rows = 4, .columns = 5, .inner = 6});
  script_.failing = {0};
  product->run({});
  product->run({});
  EXPECT_THAT(script_.run, ElementsAre(0, 1, 1));
}

TEST_F(CublasProductsTest, EqualProductsOfALoopShareAnObject) {
  ProductLoop products(compute_);
  const ProductProblem problem{.rows = 4, .columns = 5, .inner = 6}, larger{.rows = 8};
  const Product* const first = &products.of(problem);
  EXPECT_EQ(&products.of(problem), first);
  products.of(larger).run({});
  products.of(problem).run({});
  EXPECT_THAT(script_.run, ElementsAre(0, 0));
}

TEST_F(CublasProductsTest, TheLastReasonIsReportedWhenNoneIsLeft) {
  script_.failing = {0, 1, 2};
  EXPECT_EQ(error_of([&] { run(); }),
            "[cublasLtMatmul of 4 x 6 and 6 x 5] CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_THAT(script_.run, ElementsAre(0, 1, 2));
}

TEST_F(CublasProductsTest, ProductsWithoutAnAlgorithmAreRefused) {
  script_.invalid = {0, 1, 2};
  EXPECT_EQ(error_of([&] { run(); }), "[cublasLtMatmul of 4 x 6 and 6 x 5] no algorithm");
  script_.offered = 0;
  EXPECT_EQ(error_of([&] { run(); }), "[cublasLtMatmul of 4 x 6 and 6 x 5] no algorithm");
}

TEST_F(CublasProductsTest, HeuristicsKnowTheWorkspaceOfDryRuns) {
  const ProductProblem problem{.rows = 64, .columns = 64, .inner = 10'000};
  run(problem);
  EXPECT_GT(script_.most_workspace_bytes, 0u);
  EXPECT_EQ(script_.most_workspace_bytes, product_workspace_bytes(problem));
}

TEST_F(CublasProductsTest, LargeResultsUseWhatAStepSpares) {
  const ProductProblem large{.rows = 4096, .columns = 2048, .inner = 64, .spare_bytes = 3u << 20};
  std::byte workspace = {};
  make_product(compute_, large)->run({.workspace = &workspace});
  EXPECT_EQ(script_.most_workspace_bytes, large.spare_bytes);
  EXPECT_EQ(script_.workspace, &workspace);
  EXPECT_EQ(script_.workspace_bytes, large.spare_bytes);
}

TEST_F(CublasProductsTest, BiasAndReluAreTheEpilogue) {
  for (const bool bias : {false, true}) {
    for (const bool relu : {false, true}) {
      run({.rows = 4, .columns = 5, .inner = 6, .bias = bias, .relu = relu});
      EXPECT_EQ(script_.epilogue, bias && relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                                  : bias       ? CUBLASLT_EPILOGUE_BIAS
                                  : relu       ? CUBLASLT_EPILOGUE_RELU
                                               : CUBLASLT_EPILOGUE_DEFAULT);
    }
  }
}

}  // namespace
}  // namespace skyline
