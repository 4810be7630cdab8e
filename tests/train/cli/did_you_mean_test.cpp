#include "train/cli/usage_error.h"

#include <gtest/gtest.h>

#include <vector>

namespace skyline {
namespace {

using Names = std::vector<std::string>;

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("model", "model"), 0u);
  EXPECT_EQ(edit_distance("modle", "model"), 1u);  // a swap
  EXPECT_EQ(edit_distance("modl", "model"), 1u);
  EXPECT_EQ(edit_distance("moddel", "model"), 1u);
  EXPECT_EQ(edit_distance("nodel", "model"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("LeNet", "lenet"), 0u);
}

TEST(EditDistance, IsSymmetric) {
  const Names words = {"resnet20", "lenet", "mlp", "best-fit-pool", "", "pool", "ca", "abc"};
  for (const auto& a : words) {
    for (const auto& b : words) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a)) << a << b;
  }
}

TEST(Nearest, FindsTheNameThatWasMeant) {
  const Names names = {"mlp", "lenet", "resnet20", "resnet50"};
  EXPECT_EQ(nearest("lenett", names), "lenet");
  EXPECT_EQ(nearest("resnet2", names), "resnet20");
  EXPECT_EQ(nearest("renset50", names), "resnet50");
  EXPECT_EQ(nearest("mpl", names), "mlp");
  EXPECT_EQ(nearest("RESNET50", names), "resnet50");
}

TEST(Nearest, TakesTheBeginningOfANameForTheName) {
  const Names names = {"network-wise", "best-fit-pool", "planned"};
  EXPECT_EQ(nearest("net", names), "network-wise");
  EXPECT_EQ(nearest("best-fit", names), "best-fit-pool");
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  const Names names = {"mlp", "lenet", "resnet20"};
  EXPECT_EQ(nearest("transformer", names), std::nullopt);
  EXPECT_EQ(nearest("xyz", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("lenet", Names{}), std::nullopt);
}

TEST(UnknownName, GivesTheNearestOrAllNames) {
  const Names names = {"mlp", "lenet"};
  EXPECT_EQ(unknown_name("model", "lenett", names),
            "unknown model 'lenett'; did you mean 'lenet'?");
  EXPECT_EQ(unknown_name("model", "vit", names), "unknown model 'vit'; known are: mlp, lenet");
}

}  // namespace
}  // namespace skyline
