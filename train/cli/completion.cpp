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

// A pattern of the words "COMMAND BEFORE:WORD", and what may stand in WORD's place.
std::string row(const std::string& pattern, const std::vector<std::string>& words) {
  return fmt::format("    {}) words=\"{}\" ;;\n", pattern, fmt::join(words, " "));
}

// The words that a command takes where no option wants a value.
struct Words {
  std::vector<std::string> flags, names;  // names: of positional arguments
  bool files = false;                     // a positional argument is a file

  void add(const Option& option) {
    for (const std::string& name : names_of(option)) flags.push_back(name);
    if (option.flag.front() == '-') return;
    const std::vector<std::string>& choices = option.value.choices;
    files = files || choices.empty();
    names.insert(names.end(), choices.begin(), choices.end());
  }
};

// Returns the rows of a command. The shell takes the first row that fits, so those of an option
// with a value come before the one for every other word. An empty word may be a file, if the
// command takes any: then options are offered only to a word that begins with a dash.
std::string rows_of(const Command& command) {
  OptionList list;
  command.declare(list);
  std::string rows;
  Words words;
  for (const Option& option : list.options()) {
    words.add(option);
    if (option.value.type.empty()) continue;  // a flag
    for (const std::string& name : names_of(option)) {
      rows += row(fmt::format("'{} {}':*", command.name, name), option.value.choices);
    }
  }
  words.flags.emplace_back(kEveryCommand);
  rows += row(fmt::format("'{} '*:-*", command.name), words.flags);
  if (!words.files) words.names.insert(words.names.end(), words.flags.begin(), words.flags.end());
  return rows + row(fmt::format("'{} '*", command.name), words.names);
}

// The function of both shells. A word after "=" belongs to the option before it, a word with commas
// completes its last part, and where no words are known the shell completes files.
constexpr const char* kFunction = R"(_skyline() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
  if [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  if [ "$word" = = ]; then word=; fi
  local place="${{COMP_WORDS[1]}} $before" head=
  [ "$COMP_CWORD" -gt 1 ] || place=
  case $place:$word in
    :*) words="{0}help --version --help" ;;
    'help '*) words="{0}" ;;
{1}  esac
  case $word in *,*) head=${{word%,*}}, ;; esac
  COMPREPLY=($(compgen -P "$head" -W "$words" -- "${{word##*,}}"))
}}
complete -o default -F _skyline skyline
)";

// zsh runs the function of bash. A shell that completes already is not started anew.
constexpr const char* kZshStart =
    "(( $+functions[compdef] )) || {{ autoload -U compinit && compinit -i }}\n"
    "autoload -U bashcompinit && bashcompinit\n";

}  // namespace

std::string completion_script(std::span<const Command> commands, const std::string& shell) {
  std::string names, rows;
  for (const Command& command : commands) {
    names += command.name + " ";
    rows += rows_of(command);
  }
  return (shell == kZsh ? fmt::format(kZshStart) : "") + fmt::format(kFunction, names, rows);
}

}  // namespace skyline
