#include "train/cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <ostream>
#include <sstream>
#include <vector>

#include "data/host.h"
#include "memory/machine/machine_memory.h"
#include "models/model.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kWrongUsage = 2;
constexpr const char* kJsonHelp =
    "'skyline COMMAND --json' prints one JSON object. Bytes, counts and shares are plain numbers; "
    "what is unknown or does not apply is null. Bytes are without resident ones where nothing else "
    "is said. a.b is key b inside of a; NAME stands for the name of an allocator, category or "
    "layer.\n";
constexpr const char* kFooter =
    "Results go to standard output, messages and progress to standard error.\n"
    "Sizes are given with binary units: 512KiB, 8MiB, 1.5GiB.\n"
    "'skyline help json' lists the keys of what --json prints.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not settled; 129, 130, 141 or 143 "
    "interrupted and saved.";

// CLI11's help with descriptions that wrap. It counts characters where CLI11 counts bytes.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(int columns)
      : columns_(static_cast<std::size_t>(std::clamp(columns, 60, 100))) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_display_name(true), command->get_description());
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    return footer.empty() ? "" : wrapped(footer, columns_) + "\n";
  }
  std::string make_json_keys(const std::string& command, const OptionList& options) const {
    std::string text = "\n" + command + " prints:\n";
    for (const JsonKey& key : options.json_keys()) {
      text += entry(key.key, fmt::format("{}: {}", unit_name(key.unit), key.meaning));
    }
    return text;
  }
  std::string make_json_help() const { return wrapped(kJsonHelp, columns_) + "\n"; }

 private:
  static constexpr std::size_t kNameColumns = 30;

  // A name and, beside it, its description; below it if the name is too long.
  std::string entry(const std::string& name, const std::string& description) const {
    const std::string indent(kNameColumns, ' ');
    std::string text = "  " + name;
    std::istringstream lines(wrapped(description, columns_ - kNameColumns));
    bool beside = display_width(text) < kNameColumns;
    for (std::string line; std::getline(lines, line); beside = false) {
      text += beside ? std::string(kNameColumns - display_width(text), ' ') : "\n" + indent;
      text += line;
    }
    return text + "\n";
  }

  std::size_t columns_;
};

// One run of the program: the parser, and each command with its options.
struct Parser {
  struct Declared {
    CLI::App* app;
    std::unique_ptr<OptionList> options;
    CommandRun run;
    std::map<Option*, bool> flags = {};  // by option
  };
  CLI::App app{"Skyline trains neural networks and plans their memory.", "skyline"};
  std::shared_ptr<HelpFormatter> help;
  bool json = false, quiet = false;
  std::deque<Declared> commands;  // a deque, because the parser keeps references
};

std::string help_text(const Option& option) {
  if (option.value.choices.empty()) return option.help;
  return fmt::format("{}: {}", option.help, fmt::join(option.value.choices, ", "));
}

CLI::Option* declare_value(Parser::Declared& command, Option& option) {
  CLI::App& app = *command.app;
  const std::string help = help_text(option);
  if (option.value.type.empty()) return app.add_flag(option.flag, command.flags[&option], help);
  if (option.value.each) {
    const auto take = [&option](const std::vector<std::string>& words) {
      for (const std::string& word : words) option.take(word);
    };
    return app.add_option_function<std::vector<std::string>>(option.flag, take, help);
  }
  if (!option.value.many) {
    return app.add_option_function<std::string>(
        option.flag, [&option](const std::string& text) { option.take(text); }, help);
  }
  const auto take = [&option](const std::vector<std::string>& parts) {
    option.take(fmt::format("{}", fmt::join(parts, ",")));
  };
  return app.add_option_function<std::vector<std::string>>(option.flag, take, help)->delimiter(',');
}

void declare_option(Parser::Declared& command, Option& option, bool grouped) {
  CLI::Option* declared = declare_value(command, option);
  if (!option.value.type.empty()) declared->type_name(option.value.type);
  if (!option.value.initial.empty()) declared->default_str(option.value.initial);
  if ((option.traits & kRequired) != 0) declared->required();
  if (grouped && (option.traits & kImagesOnly) != 0) declared->group("Images");
  if (grouped && (option.traits & kTextOnly) != 0) {
    declared->group((option.traits & kTranslationOnly) != 0 ? "Translation" : "Text");
  }
}

// Groups the help by kind of model only where a command has options of both kinds.
void declare_options(Parser::Declared& command) {
  std::deque<Option>& options = command.options->options();
  const bool grouped = std::ranges::any_of(
      options, [](const Option& option) { return (option.traits & kTextOnly) != 0; });
  for (Option& option : options) {
    if ((option.traits & kStoredOnly) == 0) declare_option(command, option, grouped);
  }
}

void declare(Parser& parser, std::span<const Command> commands, int help_columns) {
  parser.app.footer(kFooter);
  parser.help = std::make_shared<HelpFormatter>(help_columns);
  parser.app.formatter(parser.help);
  parser.app.set_version_flag("--version", "skyline " SKYLINE_VERSION,
                              "Print the version and exit");
  parser.app.add_flag("--json", parser.json, "Print one JSON object");
  parser.app.require_subcommand(0, 1);
  parser.app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  for (const Command& command : commands) {
    CLI::App* app = parser.app.add_subcommand(command.name, command.summary);
    app->footer("");
    auto options = std::make_unique<OptionList>();
    CommandRun run = command.declare(*options);
    declare_options(
        parser.commands.emplace_back(Parser::Declared{app, std::move(options), std::move(run)}));
    app->add_flag("--json", parser.json, "Print one JSON object and nothing else");
    app->add_flag("--quiet", parser.quiet, "Print no messages but warnings and errors");
  }
}

std::string_view without_dashes(std::string_view flag) {
  flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
  return flag.substr(0, flag.find('='));
}

std::string called(const CLI::App& app) {
  return app.get_parent() == nullptr ? "skyline" : "skyline " + app.get_name();
}

[[noreturn]] void refuse_flag(const CLI::App& app, std::string_view flag) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  }
  const std::string_view name = flag.substr(0, flag.find('='));
  const auto near = nearest(without_dashes(flag), known);
  if (near) throw UsageError(fmt::format("unknown option '{}'; did you mean '--{}'?", name, *near));
  throw UsageError(fmt::format("unknown option '{}'; see '{} --help'", name, called(app)));
}

// Throws for words that no option took: first an unknown command, then unknown flags, then stray
// words.
void check_leftovers(const Parser& parser) {
  const auto parsed = parser.app.get_subcommands();
  const CLI::App& app = parsed.empty() ? parser.app : *parsed.front();
  const std::vector<std::string> left = app.remaining();
  const bool command_missing = parsed.empty() && !left.empty() && left.front().front() != '-';
  if (command_missing) {
    std::vector<std::string> known;
    for (const auto& command : parser.commands) known.push_back(command.app->get_name());
    throw UsageError(unknown_name("command", left.front(), known));
  }
  for (const std::string& word : left) {
    if (word.size() > 1 && word.front() == '-') refuse_flag(app, word);
  }
  if (!left.empty()) {
    throw UsageError(
        fmt::format("'{}' takes no '{}'; see '{} --help'", called(app), left.front(), called(app)));
  }
}

std::string sentence(const CLI::ParseError& error) {
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const auto colon = what.find(':');
    if (colon != std::string::npos) return what.substr(0, colon) + " needs a value";
  }
  // "Could not convert: --steps = many"
  const auto start = what.find(": "), equals = what.find(" = ");
  const bool conversion = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  if (conversion && start < equals && equals != std::string::npos) {
    return fmt::format("{}: invalid value '{}'", what.substr(start + 2, equals - start - 2),
                       what.substr(equals + 3));
  }
  return what;
}

// "skyline help train" means "skyline train --help".
std::vector<const char*> without_help_command(std::span<const char* const> arguments) {
  std::vector<const char*> words(arguments.begin(), arguments.end());
  if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back("--help");
  return words;
}

// "skyline help json" lists the keys that all commands print, "skyline help json plan" those of
// one.
std::optional<std::string> json_help(const Parser& parser, std::span<const char* const> words) {
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < words.size() && word == words[i];
  };
  if (!is(1, "help") || !is(2, "json") || words.size() > 4) return {};
  std::vector<std::string> known;
  std::string text = parser.help->make_json_help();
  for (const Parser::Declared& command : parser.commands) {
    known.push_back(command.app->get_name());
    if (words.size() == 4 && !is(3, known.back())) continue;
    text += parser.help->make_json_keys(known.back(), *command.options);
    if (words.size() == 4) return text;
  }
  if (words.size() == 4) throw UsageError(unknown_name("command", words[3], known));
  return text;
}

// Fills all options. Returns the help or the version if that is requested. Throws UsageError.
std::optional<std::string> parse(Parser& parser, std::span<const char* const> arguments) {
  if (auto keys = json_help(parser, arguments)) return keys;
  const std::vector<const char*> words = without_help_command(arguments);
  try {
    parser.app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForVersion& version) {
    return fmt::format("{}\n", version.what());
  } catch (const CLI::CallForHelp&) {
    check_leftovers(parser);
    return parser.app.help();
  } catch (const CLI::ParseError& error) {
    check_leftovers(parser);
    throw UsageError(sentence(error));
  } catch (const UsageError&) {
    check_leftovers(parser);
    throw;
  }
  if (parser.app.get_subcommands().empty()) {
    throw UsageError("no command is given; see 'skyline --help'");
  }
  return {};
}

void print(const ProgramStreams& streams, const std::string& text) {
  streams.output << text << std::flush;
  if (!streams.output) throw std::runtime_error("cannot write to standard output");
}

int run_parsed(Parser& parser, const ProgramStreams& streams, Console& console) {
  const CLI::App* chosen = parser.app.get_subcommands().front();
  const auto command = std::ranges::find(parser.commands, chosen, &Parser::Declared::app);
  for (const auto& [flag, on] : command->flags) {
    if (chosen->count(flag->name()) > 0) flag->take(on ? "true" : "false");
  }
  if (parser.json && command->options->given("--csv")) {
    throw UsageError("--csv and --json are two forms of the result: give one of them");
  }
  if (parser.quiet) console.be_quiet();
  const CommandResult result = command->run(console);
  console.wipe_transient();
  print(streams, parser.json ? result.json + "\n"
                             : wrapped_sentences(printable_lines(result.text), output_columns()) +
                                   result.drawing);
  return result.exit_code;
}

std::string sentence(const std::filesystem::filesystem_error& error) {
  const std::string path = error.path1().empty() ? "a file" : error.path1().string();
  return fmt::format("{}: {}", path, error.code().message());
}

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
struct CommandWords {
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
  CommandWords words;
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

int run_program(std::span<const Command> commands, std::span<const char* const> arguments,
                const ProgramStreams& streams) {
  Console console(streams.messages, streams.terminal);
  const auto failed = [&console](const std::string& why, int code = kFailure) {
    console.error(why);
    return code;
  };
  try {
    Parser parser;
    declare(parser, commands, streams.help_columns);
    if (const auto asked = parse(parser, arguments)) {
      print(streams, *asked);
      return kSuccess;
    }
    return run_parsed(parser, streams, console);
  } catch (const UsageError& error) {
    return failed(error.what(), kWrongUsage);
  } catch (const ImageSizeError& error) {
    return failed(error.what(), kWrongUsage);
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(sentence(error));
  } catch (const std::bad_alloc&) {
    const auto limit = machine_memory().limit;
    return failed(
        "the program is out of host memory" +
        (limit ? fmt::format(": {} leaves {}", limit->name, format_bytes(limit->free_bytes()))
               : std::string()));
  } catch (const std::logic_error& error) {
    return failed(fmt::format("internal error: {}", error.what()));
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

std::string completion_script(std::span<const Command> commands, const std::string& shell) {
  std::string names, rows;
  for (const Command& command : commands) {
    names += command.name + " ";
    rows += rows_of(command);
  }
  return (shell == kZsh ? fmt::format(kZshStart) : "") + fmt::format(kFunction, names, rows);
}

}  // namespace skyline
