#include "train/cli/table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace skyline {
namespace {

TEST(TableTest, AlignsColumnsAndShowsUnknownAsADash) {
  Table table("<allocator | reserved | step");
  table.add_row({"best-fit-pool", "12.41 MiB", "31 ms"});
  table.add_row({"planned", "8 MiB", ""});
  EXPECT_EQ(table.str(),
            "allocator       reserved   step\n"
            "─────────────  ─────────  ─────\n"
            "best-fit-pool  12.41 MiB  31 ms\n"
            "planned            8 MiB      –\n");
}

TEST(TableTest, PutsColumnsThatDoNotFitBelow) {
  Table table("<allocator | reserved | step | refused");
  table.add_row({"best-fit-pool", "12.41 MiB", "31 ms", "0"});
  EXPECT_EQ(table.str(31),
            "allocator       reserved   step\n"
            "─────────────  ─────────  ─────\n"
            "best-fit-pool  12.41 MiB  31 ms\n"
            "\n"
            "allocator      refused\n"
            "─────────────  ───────\n"
            "best-fit-pool        0\n");
  EXPECT_EQ(table.str(1),  // every column fits nowhere
            "allocator       reserved\n"
            "─────────────  ─────────\n"
            "best-fit-pool  12.41 MiB\n"
            "\n"
            "allocator       step\n"
            "─────────────  ─────\n"
            "best-fit-pool  31 ms\n"
            "\n"
            "allocator      refused\n"
            "─────────────  ───────\n"
            "best-fit-pool        0\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width("12 µs"), 5u);
  Table table("µ | <last");
  table.add_row({"é", "x"});
  EXPECT_EQ(table.str(), "µ  last\n─  ────\né  x\n");
}

TEST(TableTest, RefusesARowOfAnotherLength) {
  Table table("a | b");
  EXPECT_THROW(table.add_row({"1"}), std::logic_error);
}

TEST(WrappedSentences, BreaksSentencesAndLeavesWhatIsDrawn) {
  EXPECT_EQ(wrapped_sentences("one two three\nfour\n", 8), "one two\nthree\nfour\n");
  EXPECT_EQ(wrapped_sentences("no end of line", 9), "no end of\nline");
  EXPECT_EQ(wrapped_sentences("a table  of  columns\n   a map\n", 5),
            "a table  of  columns\n   a map\n");
  EXPECT_EQ(wrapped_sentences("\n\nab c\n", 3), "\n\nab\nc\n");
  EXPECT_EQ(wrapped_sentences("", 3), "");
}

}  // namespace
}  // namespace skyline
