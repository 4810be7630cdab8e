#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/console.h"
#include "train/usage_error.h"

namespace CLI {
class App;
class Option;
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
// std::exception exits 1; its what() is the sentence the user reads.
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

// Options with the checks and sentences that all commands share. `flag` is as CLI11 takes it:
// "--model", "-m,--model", or "TRACE" for a positional argument. Defaults are the values that the
// variables hold; they are shown in the help.

// One of `names`; `kind` is the noun in the error: "model".
CLI::Option* add_choice(CLI::App& options, const std::string& flag, std::string& value,
                        std::vector<std::string> names, const std::string& kind,
                        const std::string& help);

// Several of `names`, separated by commas; none of them twice.
CLI::Option* add_choices(CLI::App& options, const std::string& flag,
                         std::vector<std::string>& values, std::vector<std::string> names,
                         const std::string& kind, const std::string& help);

// Bytes with binary units, as parse_bytes takes them.
CLI::Option* add_bytes(CLI::App& options, const std::string& flag, std::uint64_t& value,
                       const std::string& help);
CLI::Option* add_bytes(CLI::App& options, const std::string& flag,
                       std::optional<std::uint64_t>& value, const std::string& help);

// A whole number from `least` to `most`.
CLI::Option* add_integer(CLI::App& options, const std::string& flag, std::int64_t& value,
                         std::int64_t least, std::int64_t most, const std::string& help);
CLI::Option* add_integer(CLI::App& options, const std::string& flag,
                         std::optional<std::int64_t>& value, std::int64_t least, std::int64_t most,
                         const std::string& help);

// A finite number from `least` to `most`.
CLI::Option* add_number(CLI::App& options, const std::string& flag, double& value, double least,
                        double most, const std::string& help);

// A file that exists and can be read.
CLI::Option* add_input_file(CLI::App& options, const std::string& flag,
                            std::filesystem::path& value, const std::string& help);

}  // namespace skyline
