#include <memory>

#include "train/cli/cli.h"
#include "train/commands/commands.h"

namespace skyline {

namespace {

struct Script {
  std::string text;
};

Rows<Script> rows(const Script*) { return {{"script", "the script", &Script::text}}; }

}  // namespace

CommandRun declare_completion(OptionList& list) {
  const auto shell = std::make_shared<std::string>(kBash);
  list.add("SHELL", choice(*shell, {kBash, kZsh}, "shell"), "Shell to print the script for");
  list.prints(keys<Script>);
  return [shell](Console&) {
    const Script script{completion_script(all_commands(), *shell)};
    return CommandResult{.json = json_text(value_of(script)), .text = script.text};
  };
}

}  // namespace skyline
