#include "train/cli/completion.h"

#include <fmt/format.h>

#include <vector>

namespace skyline {
namespace {

constexpr const char* kEveryCommand = "--json --quiet --help";

// "-m,--model" to "-m --model"; nothing for a positional argument.
std::vector<std::string> names_of(const Option& option) {
  if (option.flag.front() != '-' || (option.traits & kStoredOnly) != 0) return {};
  return split_at_commas(option.flag);
}

// A pattern of the words "COMMAND BEFORE", and what may follow.
std::string row(const std::string& pattern, const std::string& words) {
  return fmt::format("    {}) words=\"{}\" ;;\n", pattern, words);
}

// Returns the rows of a command. The shell takes the first row that fits, so those of an option
// come before the one for every other word.
std::string rows_of(const Command& command) {
  OptionList list;
  command.declare(list);
  std::string rows;
  std::vector<std::string> all;
  for (const Option& option : list.options()) {
    const std::string choices = fmt::format("{}", fmt::join(option.value.choices, " "));
    for (const std::string& name : names_of(option)) {
      if (!choices.empty()) rows += row(fmt::format("'{} {}'", command.name, name), choices);
      all.push_back(name);
    }
    if (option.flag.front() != '-' && !choices.empty()) all.push_back(choices);
  }
  all.emplace_back(kEveryCommand);
  return rows + row(fmt::format("'{} '*", command.name), fmt::format("{}", fmt::join(all, " ")));
}

}  // namespace

std::string completion_script(std::span<const Command> commands, const std::string& shell) {
  std::string names, rows;
  for (const Command& command : commands) {
    names += command.name + " ";
    rows += rows_of(command);
  }
  const std::string start =
      "autoload -U +X compinit && compinit\n"
      "autoload -U +X bashcompinit && bashcompinit\n";
  return (shell == kZsh ? start : "") + fmt::format(
                                            "_skyline() {{\n"
                                            "  local word=${{COMP_WORDS[COMP_CWORD]}} "
                                            "before=${{COMP_WORDS[COMP_CWORD-1]}} words=\n"
                                            "  local place=\"${{COMP_WORDS[1]}} $before\"\n"
                                            "  [ \"$COMP_CWORD\" -gt 1 ] || place=\n"
                                            "  case $place in\n"
                                            "    '') words=\"{0}help --version --help\" ;;\n"
                                            "    'help '*) words=\"{0}\" ;;\n"
                                            "{1}"
                                            "  esac\n"
                                            "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                                            "}}\n"
                                            "complete -o default -F _skyline skyline\n",
                                            names, rows);
}

}  // namespace skyline
