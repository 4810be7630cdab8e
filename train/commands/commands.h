#pragma once

#include <vector>

#include "train/cli/cli.h"

namespace skyline {

// Every command of the program, in the order of the help.
const std::vector<Command>& all_commands();

// train/commands/<name>_command.cpp: options and run of one command each.
CommandRun declare_check(CLI::App& options);
CommandRun declare_check_data(CLI::App& options);
CommandRun declare_compare(CLI::App& options);
CommandRun declare_dry_run(CLI::App& options);
CommandRun declare_evaluate(CLI::App& options);
CommandRun declare_plan(CLI::App& options);
CommandRun declare_replay(CLI::App& options);
CommandRun declare_reproduce(CLI::App& options);
CommandRun declare_summary(CLI::App& options);
CommandRun declare_train(CLI::App& options);
CommandRun declare_translate(CLI::App& options);

}  // namespace skyline
