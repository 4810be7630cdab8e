#include "train/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <string>

namespace skyline {
namespace {

constexpr std::string_view kYellow = "\033[33m", kRed = "\033[31m", kPlain = "\033[0m";
constexpr std::string_view kWipeLine = "\r\033[K";

// Whether the variable is set and not empty (no-color.org).
bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

}  // namespace

TerminalFacts terminal_facts(int file_descriptor) {
  TerminalFacts facts;
  facts.is_terminal = isatty(file_descriptor) == 1 && !dumb_terminal();
  facts.colour = facts.is_terminal && !environment_has("NO_COLOR");
  winsize size{};
  const bool known = ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (facts.is_terminal && known) facts.width = size.ws_col;
  return facts;
}

void Console::say(std::string_view line) {
  if (!quiet_) print(line);
}

void Console::print(std::string_view line) {
  wipe_transient();
  messages_ << line << '\n' << std::flush;
}

void Console::warn(std::string_view line) { labelled("warning: ", kYellow, line); }

void Console::error(std::string_view line) { labelled("error: ", kRed, line); }

void Console::labelled(std::string_view label, std::string_view colour, std::string_view line) {
  std::string text;
  if (facts_.colour) text += colour;
  text += label;
  if (facts_.colour) text += kPlain;
  print(text.append(line));
}

void Console::show_transient(std::string_view line) {
  if (!facts_.is_terminal || quiet_) return;
  messages_ << kWipeLine << line << std::flush;
  transient_ = true;
}

void Console::wipe_transient() {
  if (!transient_) return;
  messages_ << kWipeLine << std::flush;
  transient_ = false;
}

}  // namespace skyline
