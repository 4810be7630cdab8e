#pragma once

#include <iosfwd>
#include <string_view>

namespace skyline {

// Display capabilities of a stream.
struct TerminalFacts {
  bool is_terminal = false;  // a terminal that can move its cursor
  bool colour = false;       // a terminal, NO_COLOR unset or empty, TERM is not "dumb"
  int width = 80;            // columns
};

// Reads them from the file descriptor and the environment.
TerminalFacts terminal_facts(int file_descriptor);

// Prints messages and progress to standard error. Results are returned by commands instead.
class Console {
 public:
  Console(std::ostream& messages, TerminalFacts facts) : messages_(messages), facts_(facts) {}

  const TerminalFacts& facts() const noexcept { return facts_; }
  // Prints warnings and errors only.
  void be_quiet() noexcept { quiet_ = true; }
  void say(std::string_view line);    // the line as it is
  void warn(std::string_view line);   // "warning: " before it
  void error(std::string_view line);  // "error: " before it

  // Replaces the transient line before it. Only on terminals; say(), warn() and error() wipe it.
  void show_transient(std::string_view line);
  void wipe_transient();

 private:
  void print(std::string_view line);
  void labelled(std::string_view label, std::string_view colour, std::string_view line);

  std::ostream& messages_;
  TerminalFacts facts_;
  bool transient_ = false;
  bool quiet_ = false;
};

}  // namespace skyline
