#include "train/cli/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "train/cli/table.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgressFacts facts() {
  return {.step = 50,
          .steps = 200,
          .epoch = 1,
          .epochs = 4,
          .loss = 1.25,
          .items_per_second = 640,
          .seconds_left = 125,
          .note = "planned"};
}

TEST(FormatDuration, IsShort) {
  EXPECT_EQ(format_duration(0.4), "0 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(3720), "1 h 02 min");
  EXPECT_EQ(format_duration(-1), "?");
}

TEST(ProgressBar, ShowsEverythingWhereThereIsRoom) {
  EXPECT_EQ(progress_bar(facts(), 120),
            "[██████··················] step 50/200  epoch 1/4  loss 1.2500  640 images/s  "
            "2 min 05 s left  planned");
}

TEST(ProgressBar, FitsEveryWidth) {
  for (int width = 1; width < 140; ++width) {
    const std::string line = progress_bar(facts(), width);
    EXPECT_LT(display_width(line), static_cast<std::size_t>(std::max(width, 2))) << width;
    if (width > 12) {
      EXPECT_THAT(line, HasSubstr("step 50/200")) << width;
    }
  }
  EXPECT_THAT(progress_bar(facts(), 40), Not(HasSubstr("planned")));
}

TEST(ProgressBar, IsEmptyAtFirstAndFullAtLast) {
  EXPECT_THAT(progress_bar({.step = 0, .steps = 9}, 40), HasSubstr("[························]"));
  EXPECT_THAT(progress_bar({.step = 9, .steps = 9}, 40), HasSubstr("[████████████████████████]"));
  EXPECT_EQ(progress_bar({.step = 9}, 40), "step 9");  // unknown length: no bar
}

// A run with steps of 0.1 seconds on a fake clock.
class ProgressRun : public testing::Test {
 protected:
  std::string run(bool terminal, std::int64_t steps, std::optional<std::int64_t> every = {}) {
    std::ostringstream messages;
    Console console(messages, {.is_terminal = terminal});
    {
      Progress progress(console, steps, 32, "images", 0, every,
                        [this] { return std::chrono::duration<double>(now_); });
      for (std::int64_t step = 1; step <= steps; ++step) {
        now_ += 0.1;
        progress.step_done({.step = step, .epoch = 1, .epochs = 1, .loss = 0.5});
      }
    }
    return messages.str();
  }
  double now_ = 1000;
};

TEST_F(ProgressRun, PlainLinesBecomeRarer) {
  const std::string text = run(false, 3000);  // 300 seconds
  // Steps 1, 2 … at about 0, 1, 3, 7, 15, 31, 61, 91 … seconds, and the last.
  EXPECT_EQ(std::ranges::count(text, '\n'), 15);
  EXPECT_THAT(text,
              HasSubstr("step 1/3000  epoch 1/1  loss 0.5000  320 images/s  5 min 00 s left"));
  EXPECT_THAT(text, HasSubstr("step 3000/3000"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST_F(ProgressRun, ATerminalShowsOneLineThatIsWipedAtTheEnd) {
  const std::string text = run(true, 20);
  EXPECT_EQ(std::ranges::count(text, '\n'), 0);
  EXPECT_THAT(text, HasSubstr("step 20/20"));
  EXPECT_TRUE(text.ends_with("\r\033[K"));
}

TEST_F(ProgressRun, PrintsALineEverySoManySteps) {
  for (const bool terminal : {false, true}) {
    const std::string text = run(terminal, 95, 30);
    EXPECT_EQ(std::ranges::count(text, '\n'), 5) << "steps 1, 30, 60, 90 and 95";
    EXPECT_THAT(text, HasSubstr("\nstep 60/95  "));
  }
}

TEST_F(ProgressRun, TheRateFollowsTheLastTenToTwentySeconds) {
  std::ostringstream messages;
  Console console(messages, {});
  Progress progress(console, 1000, 10, "images", 0, {},
                    [this] { return std::chrono::duration<double>(now_); });
  std::int64_t step = 0;
  const auto steps_of = [&](double seconds, int count) {
    for (int i = 0; i < count; ++i) {
      now_ += seconds;
      progress.step_done({.step = ++step, .epoch = 1, .epochs = 1, .loss = 0.5});
    }
  };
  steps_of(1, 100);    // 10 images per second
  steps_of(0.1, 900);  // 100 images per second
  const std::string text = messages.str();
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  EXPECT_THAT(last, HasSubstr("100 images/s"));
}

}  // namespace
}  // namespace skyline
