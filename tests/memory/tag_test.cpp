#include "memory/tag.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace skyline {
namespace {

TEST(Names, AreDistinctAndComplete) {
  std::set<std::string_view> categories, phases;
  for (int i = 0; i < kCategoryCount; ++i) {
    categories.insert(category_name(static_cast<Category>(i)));
  }
  EXPECT_EQ(categories.size(), static_cast<std::size_t>(kCategoryCount));
  EXPECT_EQ(category_name(Category::kParameterGradient), "parameter gradient");
  for (int i = 0; i < 4; ++i) phases.insert(phase_name(static_cast<Phase>(i)));
  EXPECT_EQ(phases, (std::set<std::string_view>{"outside", "forward", "backward", "update"}));
}

TEST(Names, LeaveOutEmptyParts) {
  EXPECT_EQ(tag_name({}), "request (outside, unknown)");
  EXPECT_EQ(tag_name({"conv2d", "conv1", Phase::kForward, Category::kActivation}),
            "conv2d of conv1 (forward, activation)");
}

TEST(Names, SurviveTheCopyOfATag) {
  const Tag tag{"conv2d", "conv1", Phase::kForward, Category::kActivation};
  const BlockTag copy(tag);
  EXPECT_EQ(copy, (BlockTag{"conv2d", "conv1", Phase::kForward, Category::kActivation}));
  EXPECT_EQ(tag_name(copy.view()), tag_name(tag));
}

}  // namespace
}  // namespace skyline
