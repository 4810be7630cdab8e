#pragma once

#include <vector>

#include "train/cli/cli.h"

namespace skyline {

// Returns every command of the program, in the order of the help.
const std::vector<Command>& all_commands();

// Each declares the options of one command and returns its run; defined in
// train/commands/<name>_command.cpp.
CommandRun declare_check(OptionList& list);
CommandRun declare_check_data(OptionList& list);
CommandRun declare_check_order(OptionList& list);
CommandRun declare_compare(OptionList& list);
CommandRun declare_completion(OptionList& list);
CommandRun declare_dry_run(OptionList& list);
CommandRun declare_evaluate(OptionList& list);
CommandRun declare_graph(OptionList& list);
CommandRun declare_lab(OptionList& list);
CommandRun declare_order(OptionList& list);
CommandRun declare_plan(OptionList& list);
CommandRun declare_predict(OptionList& list);
CommandRun declare_replay(OptionList& list);
CommandRun declare_reproduce(OptionList& list);
CommandRun declare_summary(OptionList& list);
CommandRun declare_train(OptionList& list);
CommandRun declare_translate(OptionList& list);

}  // namespace skyline
