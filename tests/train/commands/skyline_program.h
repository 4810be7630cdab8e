#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/train/parsed_json.h"
#include "train/cli/cli.h"
#include "train/commands/commands.h"

namespace skyline {

// Exit code and output streams of one run of the program.
struct Outcome {
  int exit_code = 0;
  std::string output, messages;
  nlohmann::json json() const { return parsed_json(output); }
};

// Runs the whole program with these arguments.
inline Outcome skyline_program(std::vector<std::string> arguments) {
  std::vector<const char*> raw = {"skyline"};
  for (const std::string& argument : arguments) raw.push_back(argument.c_str());
  std::ostringstream output, messages;
  Outcome outcome;
  outcome.exit_code = run_program(all_commands(), raw, {output, messages, {}});
  outcome.output = output.str();
  outcome.messages = messages.str();
  return outcome;
}

}  // namespace skyline
