#include "framework/ops/math/arithmetic.h"

#include <gtest/gtest.h>

#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

TEST(Fill, WritesTheValueEverywhere) {
  for (const std::int64_t elements : {1, 100, 30001}) {
    RecordedContext recorded;
    const Tensor y =
        recorded.context.execute(Fill({Shape{elements}}, 0.25f), {}, {}, Phase::kBackward, "")
            .front();
    EXPECT_EQ(RecordedContext::values(y),
              std::vector<float>(static_cast<std::size_t>(elements), 0.25f));
  }
}

// Kernels are cached under the parameters.
TEST(Fill, TellsValuesApart) {
  const TensorSpec spec{Shape{3}};
  EXPECT_NE(Fill(spec, 0).parameters(), Fill(spec, 1).parameters());
  EXPECT_NE(Fill(spec, 0).parameters(), Fill({Shape{4}}, 0).parameters());
}

TEST(Fill, RefusesIntegers) { EXPECT_THROW(Fill({Shape{3}, DType::kInt32}, 0), ShapeError); }

}  // namespace
}  // namespace skyline
