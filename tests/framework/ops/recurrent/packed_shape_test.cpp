#include "framework/ops/recurrent/packed_shape.h"

#include <gtest/gtest.h>

#include <functional>

#include "framework/shape.h"

namespace skyline {
namespace {

using Sizes = std::vector<std::int32_t>;

TEST(PackedShape, CountsSentencesStepByStep) {
  const PackedShape shape = PackedShape::of_lengths(Sizes{3, 2, 2});
  EXPECT_EQ(shape.batch_sizes(), (Sizes{3, 3, 1}));
  EXPECT_EQ(shape.offsets(), (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(shape.rows(), 7);
  EXPECT_EQ(shape.steps(), 3);
  EXPECT_EQ(shape.sentences(), 3);
  EXPECT_EQ(shape.finished(0), 0);
  EXPECT_EQ(shape.finished(1), 2);
  EXPECT_EQ(shape.finished(2), 1);
  EXPECT_EQ(shape, PackedShape(Sizes{3, 3, 1}));
}

void expect_refusal(const std::function<void()>& make, const std::string& message) {
  try {
    make();
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(PackedShape, NamesTheSentenceThatIsEmptyOrOutOfOrder) {
  expect_refusal([] { PackedShape::of_lengths(Sizes{}); },
                 "[packed_shape] number of sentences, got 0, expected at least 1");
  expect_refusal(
      [] {
        PackedShape::of_lengths(Sizes{3, 0});
      },
      "[packed_shape] length of sentence 1, got 0, expected at least 1 word");
  expect_refusal(
      [] {
        PackedShape::of_lengths(Sizes{3, 1, 2});
      },
      "[packed_shape] length of sentence 2, got 2, expected at most 1, longest first");
}

TEST(PackedShape, NamesTheStepThatIsEmptyOrGrows) {
  expect_refusal([] { PackedShape(Sizes{}); },
                 "[packed_shape] number of steps, got 0, expected at least 1");
  expect_refusal([] { PackedShape(Sizes{0}); },
                 "[packed_shape] batch size of step 0, got 0, expected at least 1");
  expect_refusal(
      [] {
        PackedShape(Sizes{2, -1});
      },
      "[packed_shape] batch size of step 1, got -1, expected at least 1");
  expect_refusal(
      [] {
        PackedShape(Sizes{2, 2, 3});
      },
      "[packed_shape] batch size of step 2, got 3, expected at most 2, as before");
}

}  // namespace
}  // namespace skyline
