#include "train/cli/option_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "memory/formats/json_reader.h"
#include "memory/formats/sink.h"
#include "train/cli/did_you_mean.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

Json config_of(const std::filesystem::path& file, const std::string& where) {
  std::ifstream stream(file);
  const std::string text = text_to_end(stream, {}, std::numeric_limits<std::size_t>::max());
  if (!stream.eof()) throw UsageError(where + "cannot be read");
  try {
    return read_ordered_json(text);
  } catch (const JsonError& error) {
    throw UsageError(where + error.what());
  }
}

// Returns a stored value as the command line gives it; nothing for an option that is not set.
std::optional<std::string> as_typed(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string parts;
  for (const Json& part : value) {
    parts += (parts.empty() ? "" : ",") + as_typed(part).value_or("");
  }
  if (parts.empty()) return {};
  return parts;
}

}  // namespace

std::string Option::name() const {
  const auto comma = flag.rfind(',');
  return comma == std::string::npos ? flag : flag.substr(comma + 1);
}

std::string Option::key() const {
  std::string key = name();
  key.erase(0, key.find_first_not_of('-'));
  std::ranges::replace(key, '-', '_');
  return key;
}

void Option::take(const std::string& text) {
  given = true;
  try {
    value.parse(text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name(), error.what()));
  }
}

Option& OptionList::add(std::string flag, OptionValue value, std::string help, unsigned traits) {
  return options_.emplace_back(Option{std::move(flag), std::move(value), std::move(help), traits});
}

bool OptionList::given(std::string_view name) const {
  return std::ranges::any_of(
      options_, [name](const Option& option) { return option.given && option.name() == name; });
}

void OptionList::write(nlohmann::ordered_json& json) const {
  for (const Option& option : options_) {
    if (option.value.write) option.value.write(json[option.key()]);
  }
}

void OptionList::read(const nlohmann::ordered_json& json) {
  for (const Option& option : options_) {
    if (!option.value.read) continue;
    const std::string key = option.key();
    if ((option.traits & kMayBeAbsent) != 0 && !json.contains(key)) continue;
    option.value.read(json.at(key));
  }
}

void OptionList::read_config(const std::filesystem::path& file) {
  const std::string where = "--config " + file.string() + ": ";
  const Json json = config_of(file, where);
  if (!json.is_object()) throw UsageError(where + "expected a JSON object of options");
  for (const auto& [key, value] : json.items()) {
    Option& option = stored(key, where);
    const std::optional<std::string> text = as_typed(value);
    if (option.given || !text) continue;
    try {
      option.value.parse(*text);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}{}: {}", where, key, error.what()));
    }
  }
}

Option& OptionList::stored(const std::string& key, const std::string& where) {
  std::vector<std::string> known;
  for (Option& option : options_) {
    if (!option.value.read) continue;
    if (option.key() == key) return option;
    known.push_back(option.key());
  }
  throw UsageError(where + unknown_name("option", key, known));
}

}  // namespace skyline
