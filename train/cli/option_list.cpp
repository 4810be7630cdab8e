#include "train/cli/option_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace skyline {

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

}  // namespace skyline
