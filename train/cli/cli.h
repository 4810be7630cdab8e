#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "train/cli/console.h"
#include "train/cli/usage_error.h"

namespace CLI {
class App;
}  // namespace CLI

namespace skyline {

// What a command hands back. The program prints `json` under --json and `text` otherwise, to
// standard output; commands print nothing there themselves.
struct CommandResult {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::string text;  // ends with a newline, or empty
  int exit_code = 0;
};

// Runs a command whose options are parsed. Failures are exceptions: UsageError exits 2, any other
// std::exception exits 1; its what() is the sentence the user reads. It owns the variables that its
// options fill (by shared pointer).
using CommandRun = std::function<CommandResult(Console&)>;

// A row of the program's table. To add a command: write train/commands/<name>_command.cpp with a
// function of this kind, declare it in train/commands/commands.h, and add a row there.
struct Command {
  std::string name;
  std::string summary;                       // one line, no full stop
  CommandRun (*declare)(CLI::App& options);  // adds options; what it returns runs afterwards
};

// The streams of the program.
struct ProgramStreams {
  std::ostream& output;    // results
  std::ostream& messages;  // everything else
  TerminalFacts terminal;  // of `messages`
};

// The whole program: parses, runs one command, prints. Returns the exit code: 0; 1 a failure;
// 2 wrong usage; or the result's own. --json and --help are added to every command.
int run_program(std::span<const Command> commands, std::span<const char* const> arguments,
                const ProgramStreams& streams);

}  // namespace skyline
