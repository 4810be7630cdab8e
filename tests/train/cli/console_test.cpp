#include "train/cli/console.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace skyline {
namespace {

// The side of a pseudoterminal that programs write to.
class Terminal {
 public:
  Terminal(unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns};
    opened_ = openpty(&controller_, &program_, nullptr, nullptr, &size) == 0;
  }
  ~Terminal() {
    close(controller_);
    close(program_);
  }
  bool opened() const { return opened_; }
  int file_descriptor() const { return program_; }

 private:
  int controller_ = -1, program_ = -1;
  bool opened_ = false;
};

class Environment : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
};

TEST(Console, EscapesWhatATerminalWouldObey) {
  std::ostringstream messages;
  Console console(messages, {.is_terminal = true, .colour = true, .width = 80});
  console.say("a\x1b[2J\tb\nc");
  console.warn("\u009b2J");
  console.error("\u202e");
  console.show_transient("\x07");
  EXPECT_EQ(messages.str(),
            "a\\x1b[2J\tb\nc\n\033[33mwarning: \033[0m\\u009b2J\n\033[31merror: \033[0m\\u202e\n"
            "\r\033[K\\x07");
}

TEST_F(Environment, ATerminalHasColourAndAWidth) {
  const Terminal terminal(123);
  ASSERT_TRUE(terminal.opened());
  const TerminalFacts facts = terminal_facts(terminal.file_descriptor());
  EXPECT_TRUE(facts.is_terminal);
  EXPECT_TRUE(facts.colour);
  EXPECT_EQ(facts.width, 123);
}

TEST_F(Environment, NoColorTakesTheColourOnly) {
  const Terminal terminal(80);
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(terminal_facts(terminal.file_descriptor()).is_terminal);
  EXPECT_FALSE(terminal_facts(terminal.file_descriptor()).colour);
  setenv("NO_COLOR", "", 1);  // empty means unset (no-color.org)
  EXPECT_TRUE(terminal_facts(terminal.file_descriptor()).colour);
}

TEST_F(Environment, AFileOrADumbTerminalIsNoTerminal) {
  const Terminal terminal(80);
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(terminal_facts(terminal.file_descriptor()).is_terminal);
  setenv("TERM", "xterm", 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(terminal_facts(ends[1]).is_terminal);
  EXPECT_FALSE(terminal_facts(ends[1]).colour);
  close(ends[0]);
  close(ends[1]);
}

TEST(ConsoleTest, BreaksSentencesAtTheWidthOfATerminal) {
  std::ostringstream messages;
  Console(messages, {.is_terminal = true, .width = 12}).say("too long for a line");
  EXPECT_EQ(messages.str(), "too long for\na line\n");
}

TEST(ConsoleTest, WritesPlainLinesWithoutATerminal) {
  std::ostringstream messages;
  Console console(messages, {});
  console.say("one");
  console.show_transient("moving");
  console.warn("two");
  console.error("three");
  EXPECT_EQ(messages.str(), "one\nwarning: two\nerror: three\n");
}

TEST(ConsoleTest, WipesTheMovingLineBeforeOthers) {
  std::ostringstream messages;
  Console console(messages, {.is_terminal = true, .colour = true});
  console.show_transient("moving");
  console.error("three");
  EXPECT_EQ(messages.str(), "\r\033[Kmoving\r\033[K\033[31merror: \033[0mthree\n");
}

}  // namespace
}  // namespace skyline
