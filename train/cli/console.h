#pragma once

#include <iosfwd>
#include <string_view>

namespace skyline {

// What a stream can show.
struct TerminalFacts {
  bool is_terminal = false;  // one that can move its cursor
  bool colour = false;       // a terminal, NO_COLOR unset or empty, TERM is not "dumb"
  int width = 80;            // columns
};

// Looks at the file descriptor and the environment.
TerminalFacts terminal_facts(int file_descriptor);

// Where messages and progress go: standard error. Results do not: commands return those.
class Console {
 public:
  Console(std::ostream& messages, TerminalFacts facts) : messages_(messages), facts_(facts) {}

  const TerminalFacts& facts() const noexcept { return facts_; }
  void say(std::string_view line);    // a line as it is
  void warn(std::string_view line);   // "warning: " before it
  void error(std::string_view line);  // "error: " before it

  // Shows `line` in place of the line shown before (terminals only; nothing elsewhere).
  // say(), warn() and error() first wipe it.
  void show_transient(std::string_view line);
  void wipe_transient();

 private:
  void labelled(std::string_view label, std::string_view colour, std::string_view line);
  std::ostream& messages_;
  TerminalFacts facts_;
  bool transient_ = false;
};

}  // namespace skyline
