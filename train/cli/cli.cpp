#include "train/cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <new>
#include <ostream>
#include <sstream>
#include <system_error>

#include "models/image_size.h"
#include "train/cli/did_you_mean.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kWrongUsage = 2;
constexpr const char* kFooter =
    "Results go to standard output, messages and progress to standard error.\n"
    "Sizes are given with binary units: 512KiB, 8MiB, 1.5GiB.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 and 143 interrupted and saved.";

// One run of the program: the parser and what each command does once parsed.
struct Parser {
  CLI::App app{"Skyline trains neural networks and plans their memory.", "skyline"};
  bool json = false;
  std::vector<CLI::App*> commands;
  std::vector<CommandRun> runs;
};

// Help that stays within 100 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNameColumns); }

  // CLI11 shows a flag that sets false as "--no-in-place{false}".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return name.substr(0, name.find('{'));
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option));
  }

 private:
  static constexpr std::size_t kNameColumns = 32, kTextColumns = 66;

  // Line ends in place of blanks; those of the text stay.
  static std::string wrapped(const std::string& text) {
    std::string result;
    std::size_t column = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line); column = 0) {
      if (!result.empty()) result += '\n';
      std::istringstream words(line);
      for (std::string word; words >> word; column += display_width(word) + 1) {
        const bool fits = column + display_width(word) <= kTextColumns;
        if (column > 0) result += fits ? ' ' : '\n';
        if (!fits) column = 0;
        result += word;
      }
    }
    return result;
  }
};

void declare(Parser& parser, std::span<const Command> commands) {
  parser.app.footer(kFooter);
  parser.app.formatter(std::make_shared<HelpFormatter>());
  parser.app.add_flag("--json", parser.json, "Print one JSON object");
  parser.app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  for (const Command& command : commands) {
    CLI::App* options = parser.app.add_subcommand(command.name, command.summary);
    options->footer("");
    parser.runs.push_back(command.declare(*options));
    options->add_flag("--json", parser.json, "Print one JSON object and nothing else");
    parser.commands.push_back(options);
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

// Throws for what no option took: unknown flags first, then unknown commands and stray words.
void check_leftovers(const Parser& parser) {
  const auto parsed = parser.app.get_subcommands();
  const CLI::App& app = parsed.empty() ? parser.app : *parsed.front();
  const std::vector<std::string> left = app.remaining();
  const bool command_missing = parsed.empty() && !left.empty() && left.front().front() != '-';
  if (command_missing) {
    std::vector<std::string> known;
    for (const CLI::App* command : parser.commands) known.push_back(command->get_name());
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
    return fmt::format("{}: '{}' is no value for it", what.substr(start + 2, equals - start - 2),
                       what.substr(equals + 3));
  }
  return what;
}

// Fills all options. Throws CLI::CallForHelp when help is asked for, and UsageError.
void parse(Parser& parser, std::span<const char* const> arguments) {
  try {
    parser.app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    check_leftovers(parser);
    throw;
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
}

void print_result(const CommandResult& result, bool json, std::ostream& output) {
  if (json) {
    // Text that is not UTF-8 (file names) must not make a finished run fail.
    output << result.json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    output << result.text;
  }
  output.flush();
  if (!output) throw std::runtime_error("cannot write to standard output");
}

int run_parsed(const Parser& parser, const ProgramStreams& streams, Console& console) {
  const CLI::App* chosen = parser.app.get_subcommands().front();
  std::size_t index = 0;
  while (parser.commands[index] != chosen) ++index;
  const CommandResult result = parser.runs[index](console);
  console.wipe_transient();
  print_result(result, parser.json, streams.output);
  return result.exit_code;
}

std::string sentence(const std::filesystem::filesystem_error& error) {
  const std::string path = error.path1().empty() ? "a file" : error.path1().string();
  return fmt::format("{}: {}", path, error.code().message());
}

}  // namespace

int run_program(std::span<const Command> commands, std::span<const char* const> arguments,
                const ProgramStreams& streams) {
  Console console(streams.messages, streams.terminal);
  const auto failed = [&console](const std::string& why, int code = kFailure) {
    console.error(why);
    return code;
  };
  Parser parser;
  try {
    declare(parser, commands);
    parse(parser, arguments);
    return run_parsed(parser, streams, console);
  } catch (const CLI::CallForHelp&) {
    streams.output << parser.app.help() << std::flush;
    return kSuccess;
  } catch (const UsageError& error) {
    return failed(error.what(), kWrongUsage);
  } catch (const ImageSizeError& error) {
    return failed(error.what(), kWrongUsage);
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(sentence(error));
  } catch (const std::bad_alloc&) {
    return failed("this machine has no memory left for the program");
  } catch (const std::logic_error& error) {
    return failed(fmt::format("internal error: {}", error.what()));
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace skyline
