#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
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

// A file for --config. Runs on generated images then end with an evaluation of 44 of them: that of
// the default, 2000, takes longer than the steps of a test.
inline const std::string& few_test_images() {
  static const TemporaryFolder folder;
  static const std::string file = [] {
    std::ofstream(folder / "few.json") << R"({"test_images": 44})";
    return (folder / "few.json").string();
  }();
  return file;
}

}  // namespace skyline
