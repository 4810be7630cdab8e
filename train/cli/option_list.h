#pragma once

#include <deque>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "train/cli/figures.h"
#include "train/cli/option_types.h"

namespace skyline {

// Further properties of an option; rows combine them with |.
enum OptionTraits : unsigned {
  kEveryModel = 0,
  kImagesOnly = 1,     // only for models that read images
  kTextOnly = 2,       // only for models that translate
  kNeutral = 4,        // changes no loss and no parameter, so a resumed run may change it
  kMayBeAbsent = 8,    // runs stored by earlier versions lack it and get its default
  kRequired = 16,      // wrong usage without it
  kStoredOnly = 32,    // stored with a run, but no flag
  kMayChange = 64,     // changes losses; a resumed run may change it and says so
  kCachingOnly = 128,  // of the allocator caching
  kBfcOnly = 256,      // of bfc
  kPlannedOnly = 512,  // of planned
};

// One row: a flag, the variable behind it, its help text and its traits.
struct Option {
  // "--model", "TRACE" for a positional argument, or several names with the main one last:
  // "-m,--model".
  std::string flag;
  OptionValue value;
  std::string help;
  unsigned traits = kEveryModel;
  bool given = false;  // on the command line

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
  // True if an option of that name is on the command line; false if the command has no such option.
  bool given(std::string_view name) const;

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

  std::deque<Option> options_;  // a deque, because callers keep references
  std::vector<JsonKeys> json_;
};

}  // namespace skyline
