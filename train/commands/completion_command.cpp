#include <memory>
#include <nlohmann/json.hpp>

#include "train/cli/completion.h"
#include "train/cli/json_text.h"
#include "train/commands/commands.h"

namespace skyline {

CommandRun declare_completion(OptionList& list) {
  const auto shell = std::make_shared<std::string>(kBash);
  list.add("SHELL", choice(*shell, {kBash, kZsh}, "shell"), "Shell to print the script for");
  return [shell](Console&) {
    const std::string script = completion_script(all_commands(), *shell);
    return CommandResult{.json = json_text({{"script", script}}), .text = script};
  };
}

}  // namespace skyline
