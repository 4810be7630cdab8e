#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "train/cli/figures.h"
#include "train/cli/usage_error.h"

namespace skyline {

// The variable that an option fills: how it reads text from the command line, how the help shows
// it, and how a run stores it as JSON. The makers below take the variable by reference, so it must
// outlive the value; the default is what the variable holds when the value is made.
struct OptionValue {
  std::string type;                  // placeholder in the help: "N"; empty: a flag without a value
  std::string initial;               // default shown in the help; empty: none
  std::vector<std::string> choices;  // listed after the help text
  bool many = false;                 // takes several words, or several parts between commas
  bool each = false;                 // takes several words, each parsed by itself

  // Sets the variable. Throws UsageError without the option's name, which the caller puts first.
  std::function<void(const std::string& text)> parse;
  // Empty if no run stores the option.
  std::function<void(nlohmann::ordered_json& json)> write;
  // Throws nlohmann::json::exception for a value of another type.
  std::function<void(const nlohmann::ordered_json& json)> read;
  // True if the variable no longer holds the default.
  std::function<bool()> is_set;
};

// True if the option is given. The flag takes no value: --tf32.
OptionValue flag(bool& value);
// False if the option is given: --no-in-place. JSON stores whether it is given.
OptionValue negated_flag(bool& value);

// The greatest count that makes sense for epochs, steps, words and images.
inline constexpr std::int64_t kMany = 1'000'000'000;
inline constexpr std::int64_t kMostThreads = 1024;  // more only wait for each other
inline constexpr double kDay = 86400;               // seconds; the greatest limit of time

// A whole number from `least` to `most`. T: int, std::int64_t, std::uint64_t or an
// optional std::int64_t.
template <typename T>
OptionValue integer(T& value, std::int64_t least, std::int64_t most);

// A finite number from `least` to `most`. T: double or an optional double.
template <typename T>
OptionValue number(T& value, double least, double most);

// Whole numbers from `least` on, ascending and separated by commas.
OptionValue ascending(std::vector<std::int64_t>& value, std::int64_t least, std::int64_t most);

// `value` with a check that runs after the variable is set and throws UsageError.
OptionValue checked(OptionValue value, std::function<void()> check);

// Bytes with binary units, as parse_bytes() reads them. T: std::uint64_t or an optional one.
template <typename T>
OptionValue bytes(T& value);

// The same without 0: "0 bytes hold nothing" is refused where `why` is "hold nothing".
template <typename T>
OptionValue some_bytes(T& value, const std::string& why) {
  return checked(bytes(value), [&value, why] {
    if (value == 0u) throw UsageError("0 bytes " + why);
  });
}

// Any text. T: std::string or an optional one.
template <typename T>
OptionValue text(T& value, std::string type = "TEXT");

// A file or folder that need not exist. An empty name is refused: it usually comes from an unset
// variable of the shell. T: std::filesystem::path or an optional one. Not stored.
template <typename T>
OptionValue path(T& value, std::string type = "TEXT");

// One or more files or folders, each a word of its own, as path() takes one. Not stored.
OptionValue paths(std::vector<std::filesystem::path>& value, std::string type = "TEXT");

// Several texts, separated by commas, such as names of files.
OptionValue texts(std::vector<std::string>& value, const std::string& type);
inline OptionValue files(std::vector<std::string>& value) { return texts(value, "FILE"); }

// One of `names`; `kind` is the noun in the error: "model".
OptionValue choice(std::string& value, std::vector<std::string> names, const std::string& kind);
// The same for a variable that is not a string.
OptionValue choice(std::function<std::string()> get, std::function<void(const std::string&)> set,
                   std::vector<std::string> names, const std::string& kind);

// Several of `names`, separated by commas, none twice. `name_of` extracts the name from a part that
// holds more, such as "pool@1GiB". Not stored.
OptionValue choices(std::vector<std::string>& values, std::vector<std::string> names,
                    const std::string& kind, std::string (*name_of)(const std::string&) = nullptr);

// The names of a table's rows.
template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}
// A help text that lists what each of them does: "Packing algorithm.\nbest-fit: …\nOne of".
template <typename Table>
std::string help_of(std::string text, const Table& table) {
  for (const auto& row : table) {
    text.append("\n").append(row.name).append(": ").append(row.summary).append(".");
  }
  return text + "\nOne of";
}

// The parts between commas; one empty part for an empty text.
std::vector<std::string> split_at_commas(const std::string& text);

// Replaces the name of an existing file or folder by its absolute path, so that a run can be
// resumed from anywhere. Leaves any other name as it is.
void make_absolute(std::string& path);

// Further properties of an option; rows combine them with |.
enum OptionTraits : unsigned {
  kEveryModel = 0,
  kImagesOnly = 1,       // only for models that read images
  kTranslationOnly = 2,  // only for models that translate
  kNeutral = 4,          // changes no loss and no parameter, so a resumed run may change it
  kMayBeAbsent = 8,      // runs stored by earlier versions lack it and get its default
  kRequired = 16,        // wrong usage without it
  kStoredOnly = 32,      // stored with a run, but no flag
  kMayChange = 64,       // changes losses; a resumed run may change it and says so
  kCachingOnly = 128,    // of the allocator caching
  kBfcOnly = 256,        // of bfc
  kPlannedOnly = 512,    // of planned
  kStitchedOnly = 1024,  // of stitched
  kGptOnly = 2048,       // only for models that go on with a text
  kTextOnly = kTranslationOnly | kGptOnly,
};

// A rule between an option and others. A term is an option that is set, or that has a value:
// "--ranks", "--device cuda". Terms of options that a command does not have count for nothing.
struct OptionRule {
  std::string term;                 // the rule's own: no rule unless it holds
  bool needs = true;                // one of the others; false: none of them
  std::vector<std::string> others;  // terms
  std::string message;
};

// One row: a flag, the variable behind it, its help text, its traits and its rules.
struct Option {
  // "--model", "TRACE" for a positional argument, or several names with the main one last:
  // "-m,--model".
  std::string flag;
  OptionValue value;
  std::string help;
  unsigned traits = kEveryModel;
  bool given = false;  // on the command line
  std::vector<OptionRule> rules = {};

  // Add a rule: with this option, or with this value of it, one of the others must be set, or none
  // may be. Without a message of its own, the rule says "--a needs --b or --c" or "--a and --b
  // exclude each other: give one of them". Both return the option.
  Option& needs(std::vector<std::string> others, std::string message = {},
                std::string of_value = {});
  Option& excludes(std::string other, std::string message = {}, std::string of_value = {});

  std::string name() const;  // "--model"; "TRACE"
  std::string key() const;   // in JSON: "batch_size" for --batch-size
  // Sets the variable. Throws UsageError that begins with the name.
  void take(const std::string& text);
};

// The options of a command, in the order of its help. The command line, the help, the JSON of a run
// and the checks of a resumed run all come from these rows:
//
//   options.add("--batch-size", integer(batch_size, 1, 1024), "Images per step");
class OptionList {
 public:
  Option& add(std::string flag, OptionValue value, std::string help, unsigned traits = kEveryModel);

  std::deque<Option>& options() noexcept { return options_; }
  const std::deque<Option>& options() const noexcept { return options_; }
  // Returns null if the command has no option of that name.
  Option* find(std::string_view name);
  const Option* find(std::string_view name) const;
  // True if an option of that name is on the command line; false if the command has no such option.
  bool given(std::string_view name) const;
  // Throws UsageError for the first rule that the values break.
  void check_rules() const;

  // Says that --json prints an object of these keys: keys<PlanResult>.
  using JsonKeys = std::vector<JsonKey> (*)(const std::string& prefix);
  void prints(JsonKeys keys) { json_.push_back(keys); }
  // All keys that --json prints, each once.
  std::vector<JsonKey> json_keys() const;

  // Adds every stored option to `json` under its key.
  void write(nlohmann::ordered_json& json) const;
  // Sets every stored option. Throws nlohmann::json::exception if one is of another type, or is
  // missing and not kMayBeAbsent.
  void read(const nlohmann::ordered_json& json);
  // Sets the stored options that are not given from a JSON file with their keys, such as a run's
  // arguments.json. Throws UsageError that names file and key.
  void read_config(const std::filesystem::path& file);

 private:
  // Throws UsageError that begins with `where` if no stored option has this key.
  Option& stored(const std::string& key, const std::string& where);
  bool holds(std::string_view term) const;

  std::deque<Option> options_;  // a deque, because callers keep references
  std::vector<JsonKeys> json_;
};

}  // namespace skyline
