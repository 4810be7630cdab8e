#include "framework/ops/array/channels.h"

#include <gtest/gtest.h>

#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/shortcut.h"

namespace skyline {
namespace {

struct ShortcutCase {
  Shape x;
  int stride;
  int channels;
};

class ShortcutTest : public testing::TestWithParam<ShortcutCase> {};

TEST_P(ShortcutTest, MatchesReference) {
  const auto& [x, stride, channels] = GetParam();
  check_op({.apply =
                [=](Context& context, std::vector<Tensor> xs) {
                  return shortcut(context, std::move(xs[0]), stride, channels);
                },
            .reference =
                [=](const std::vector<HostTensor>& xs) {
                  return reference::shortcut(xs[0], stride, channels);
                },
            .inputs = {random_tensor(x, 61)},
            .derivatives_per_input = 20,
            .seed = 61});
}

INSTANTIATE_TEST_SUITE_P(All, ShortcutTest,
                         testing::Values(ShortcutCase{{2, 3, 4, 6}, 2, 6},
                                         ShortcutCase{{2, 3, 5, 7}, 2, 8},  // odd extents
                                         ShortcutCase{{1, 4, 7, 5}, 3, 4},  // no padding
                                         ShortcutCase{{1, 2, 3, 3}, 1, 5},  // no subsampling
                                         ShortcutCase{{3, 16, 32, 31}, 2, 32}));

void expect_refusal(int stride, int channels, const std::string& message) {
  RecordedContext recorded;
  const std::vector<float> host(2 * 3 * 4 * 4);
  Tensor x = recorded.context.upload({{2, 3, 4, 4}}, host.data());
  try {
    shortcut(recorded.context, std::move(x), stride, channels);
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Shortcut, RefusesWhatDoesNotFit) {
  expect_refusal(0, 3, "[shortcut] stride, got 0, expected at least 1");
  expect_refusal(1, 2, "[shortcut] channels, got 2, expected at least the input's 3");
  RecordedContext recorded;
  EXPECT_THROW(shortcut(recorded.context, recorded.upload_vector({1, 2}), 1, 2), ShapeError);
}

}  // namespace
}  // namespace skyline
