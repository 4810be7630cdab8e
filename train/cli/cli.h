#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>

#include "train/cli/console.h"
#include "train/cli/option_list.h"

namespace skyline {

// The result of a command. The program prints `json` under --json and `text` otherwise, to standard
// output; commands print nothing there themselves.
struct CommandResult {
  std::string json = "{}";  // one object, see json_text()
  std::string text;         // ends with a newline, or empty
  int exit_code = 0;
  std::string drawing = {};  // follows the text, with a terminal's colours
};
// An answer as JSON, from its rows, and as text.
template <Told T>
CommandResult told(const T& answer, std::string text, int exit_code = 0) {
  return {.json = json_text(value_of(answer)), .text = std::move(text), .exit_code = exit_code};
}

// Runs a command after its options are parsed. Failures are exceptions: UsageError exits 2, any
// other std::exception exits 1; its what() is the sentence for the user. The function owns the
// variables behind its options (by shared pointer).
using CommandRun = std::function<CommandResult(Console&)>;

// A row of the program's table. To add a command: write a function of this kind in train/commands/,
// declare it in train/commands/commands.h, and add a row in commands.cpp.
struct Command {
  std::string name;
  std::string summary;                      // one line without a full stop
  CommandRun (*declare)(OptionList& list);  // adds the options, which outlive the returned function
};

// The streams of the program.
struct ProgramStreams {
  std::ostream& output;    // results and help
  std::ostream& messages;  // everything else
  TerminalFacts terminal;  // of `messages`
  int help_columns = 80;
};

// The whole program: parses, runs one command, prints. Returns the exit code: 0 on success, 1 on a
// failure, 2 on wrong usage, or the result's own. Adds --json, --quiet and --help to every command;
// `skyline help COMMAND` and `skyline --version` work, too.
int run_program(std::span<const Command> commands, std::span<const char* const> arguments,
                const ProgramStreams& streams);

inline constexpr const char* kBash = "bash";
inline constexpr const char* kZsh = "zsh";

// Returns a script for this shell that completes the commands, their options and the names that an
// option takes; elsewhere the shell completes files. zsh runs the script of bash.
std::string completion_script(std::span<const Command> commands, const std::string& shell);

}  // namespace skyline
