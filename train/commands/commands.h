#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "train/cli/cli.h"

namespace skyline {

// Returns every command of the program, in the order of the help.
const std::vector<Command>& all_commands();

// Each declares the options of one command and returns its run; defined in the source of its
// command or of its kind of commands.
CommandRun declare_check(OptionList& list);
CommandRun declare_check_data(OptionList& list);
CommandRun declare_check_order(OptionList& list);
CommandRun declare_compare(OptionList& list);
CommandRun declare_completion(OptionList& list);
CommandRun declare_dry_run(OptionList& list);
CommandRun declare_evaluate(OptionList& list);
CommandRun declare_generate(OptionList& list);
CommandRun declare_graph(OptionList& list);
CommandRun declare_lab(OptionList& list);
CommandRun declare_order(OptionList& list);
CommandRun declare_plan(OptionList& list);
CommandRun declare_predict(OptionList& list);
CommandRun declare_replay(OptionList& list);
CommandRun declare_reproduce(OptionList& list);
CommandRun declare_run(OptionList& list);
CommandRun declare_summary(OptionList& list);
CommandRun declare_train(OptionList& list);
CommandRun declare_translate(OptionList& list);

struct TrainedNetwork;
// Evaluates a checkpoint of a model that goes on with a text: on the validation part of the run's
// text, or on all of another one, named as --data names it. Defined beside declare_generate().
CommandResult evaluate_text(TrainedNetwork trained, const std::string& data);
std::vector<JsonKey> text_evaluation_keys(const std::string& prefix);

// For commands that read and write files.
//
// Throws UsageError if both files are standard input, "-"; `names` are theirs: "TRACE and PLAN".
void require_one_input(const std::filesystem::path& one, const std::filesystem::path& other,
                       std::string_view names);
// Throws UsageError if the folder of `file` does not exist. Does nothing for an empty path.
// Commands call it before their work, so that nothing is lost at its end.
void require_folder_of(const std::filesystem::path& file);
// Writes a whole file and says so. Throws WriteError.
void write_and_say(const std::filesystem::path& file, std::string_view text, Console& console);

}  // namespace skyline
