#include "train/cli/option_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "memory/formats/json_reader.h"
#include "memory/formats/sink.h"
#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// The value type of a variable. Makers accept variables of type T and std::optional<T>.
template <typename T>
struct Plain {
  using Type = T;
};
template <typename T>
struct Plain<std::optional<T>> {
  using Type = T;
};

template <typename T>
const T* held(const T& value) {
  return &value;
}
template <typename T>
const T* held(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

// True once the variable has another value than now.
template <typename T>
std::function<bool()> changed(const T& value) {
  return [&value, initial = value] { return value != initial; };
}

// Makes a value that JSON stores unchanged; an empty optional is null.
template <typename T>
OptionValue stored(T& value, std::string type, std::function<void(const std::string&)> parse) {
  OptionValue result{.type = std::move(type), .parse = std::move(parse), .is_set = changed(value)};
  result.write = [&value](Json& json) {
    if (const auto* here = held(value)) json = *here;
  };
  result.read = [&value](const Json& json) {
    value = T{};
    if (std::is_same_v<T, typename Plain<T>::Type> || !json.is_null()) {
      value = json.get<typename Plain<T>::Type>();
    }
  };
  return result;
}

void check_name(const std::string& name, const std::vector<std::string>& names,
                const std::string& kind) {
  if (std::ranges::find(names, name) == names.end()) {
    throw UsageError(unknown_name(kind, name, names));
  }
}

// Parses the whole text as a number. from_chars ignores the locale and accepts no leading blanks.
template <typename Number>
Number parse_number(const std::string& text, Number least, Number most, std::string_view noun) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool too_long = error == std::errc::result_out_of_range;
  if (stopped != end || (error != std::errc() && !too_long)) {
    throw UsageError(fmt::format("'{}' is not {}", text, noun));
  }
  if (too_long || !(value >= least && value <= most)) {
    const bool unbounded = most == std::numeric_limits<Number>::max();
    const std::string range = unbounded ? fmt::format("must be at least {}", least)
                                        : fmt::format("must be from {} to {}", least, most);
    throw UsageError(fmt::format("{} is out of range: it {}", text, range));
  }
  return value;
}

const std::string& not_empty(const std::string& path) {
  if (path.empty()) throw UsageError("the name of a file or folder is empty");
  return path;
}

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

OptionValue flag(bool& value) {
  return stored(value, "", [&value](const std::string& text) { value = text == "true"; });
}

OptionValue negated_flag(bool& value) {
  return {.parse = [&value](const std::string& text) { value = text != "true"; },
          .write = [&value](Json& json) { json = !value; },
          .read = [&value](const Json& json) { value = !json.get<bool>(); },
          .is_set = changed(value)};
}

template <typename T>
OptionValue integer(T& value, std::int64_t least, std::int64_t most) {
  OptionValue result = stored(value, "N", [&value, least, most](const std::string& text) {
    value = static_cast<typename Plain<T>::Type>(parse_number(text, least, most, "a whole number"));
  });
  if (const auto* here = held(value)) result.initial = std::to_string(*here);
  return result;
}

template OptionValue integer(int&, std::int64_t, std::int64_t);
template OptionValue integer(std::int64_t&, std::int64_t, std::int64_t);
template OptionValue integer(std::uint64_t&, std::int64_t, std::int64_t);
template OptionValue integer(std::optional<std::int64_t>&, std::int64_t, std::int64_t);

OptionValue ascending(std::vector<std::int64_t>& value, std::int64_t least, std::int64_t most) {
  OptionValue result = stored(value, "N,…", [&value, least, most](const std::string& text) {
    value.clear();
    for (const std::string& part : split_at_commas(text)) {
      value.push_back(
          parse_number(part, value.empty() ? least : value.back() + 1, most, "a whole number"));
    }
  });
  result.many = true;
  return result;
}

template <typename T>
OptionValue number(T& value, double least, double most) {
  OptionValue result = stored(value, "X", [&value, least, most](const std::string& text) {
    value = parse_number(text, least, most, "a number");
  });
  if (const double* here = held(value)) result.initial = fmt::format("{}", *here);
  return result;
}

template OptionValue number(double&, double, double);
template OptionValue number(std::optional<double>&, double, double);

template <typename T>
OptionValue bytes(T& value) {
  OptionValue result =
      stored(value, "SIZE", [&value](const std::string& text) { value = parse_bytes(text); });
  if (const std::uint64_t* here = held(value)) result.initial = format_bytes_exact(*here);
  return result;
}

template OptionValue bytes(std::uint64_t&);
template OptionValue bytes(std::optional<std::uint64_t>&);

template <typename T>
OptionValue text(T& value, std::string type) {
  OptionValue result =
      stored(value, std::move(type), [&value](const std::string& given) { value = given; });
  if (const std::string* here = held(value)) result.initial = *here;
  return result;
}

template OptionValue text(std::string&, std::string);
template OptionValue text(std::optional<std::string>&, std::string);

template <typename T>
OptionValue path(T& value, std::string type) {
  return {.type = std::move(type),
          .parse = [&value](const std::string& given) { value = not_empty(given); },
          .is_set = changed(value)};
}

template OptionValue path(std::filesystem::path&, std::string);
template OptionValue path(std::optional<std::filesystem::path>&, std::string);

OptionValue paths(std::vector<std::filesystem::path>& value, std::string type) {
  return {.type = std::move(type),
          .each = true,
          .parse = [&value](const std::string& given) { value.emplace_back(not_empty(given)); },
          .is_set = changed(value)};
}

OptionValue texts(std::vector<std::string>& value, const std::string& type) {
  OptionValue result = stored(value, type + ",…",
                              [&value](const std::string& text) { value = split_at_commas(text); });
  result.many = true;
  return result;
}

OptionValue choice(std::function<std::string()> get, std::function<void(const std::string&)> set,
                   std::vector<std::string> names, const std::string& kind) {
  OptionValue result{.type = "NAME", .initial = get(), .choices = names};
  result.parse = [set, kind, names = std::move(names)](const std::string& given) {
    check_name(given, names, kind);
    set(given);
  };
  result.write = [get](Json& json) { json = get(); };
  result.read = [set](const Json& json) { set(json.get<std::string>()); };
  result.is_set = [get, initial = get()] { return get() != initial; };
  return result;
}

OptionValue choice(std::string& value, std::vector<std::string> names, const std::string& kind) {
  return choice([&value] { return value; }, [&value](const std::string& name) { value = name; },
                std::move(names), kind);
}

OptionValue choices(std::vector<std::string>& values, std::vector<std::string> names,
                    const std::string& kind, std::string (*name_of)(const std::string&)) {
  OptionValue result{.type = "NAME,…",
                     .initial = fmt::format("{}", fmt::join(values, ",")),
                     .choices = names,
                     .is_set = changed(values)};
  result.parse = [&values, kind, name_of, names = std::move(names)](const std::string& given) {
    const std::vector<std::string> parts = split_at_commas(given);
    for (auto part = parts.begin(); part != parts.end(); ++part) {
      check_name(name_of ? name_of(*part) : *part, names, kind);
      if (std::find(parts.begin(), part, *part) != part) {
        throw UsageError(fmt::format("{} '{}' is given twice", kind, *part));
      }
    }
    values = parts;
  };
  return result;
}

OptionValue checked(OptionValue value, std::function<void()> check) {
  value.parse = [parse = std::move(value.parse),
                 check = std::move(check)](const std::string& given) {
    parse(given);
    check();
  };
  return value;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void make_absolute(std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  if (!error) path = whole.string();
}

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

Option& Option::needs(std::vector<std::string> others, std::string message, std::string of_value) {
  rules.push_back({of_value.empty() ? name() : name() + " " + of_value, true, std::move(others),
                   std::move(message)});
  return *this;
}

Option& Option::excludes(std::string other, std::string message, std::string of_value) {
  needs({std::move(other)}, std::move(message), std::move(of_value)).rules.back().needs = false;
  return *this;
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

const Option* OptionList::find(std::string_view name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

Option* OptionList::find(std::string_view name) {
  return const_cast<Option*>(std::as_const(*this).find(name));
}

bool OptionList::given(std::string_view name) const {
  const Option* const option = find(name);
  return option != nullptr && option->given;
}

bool OptionList::holds(std::string_view term) const {
  const std::size_t blank = std::min(term.find(' '), term.size());
  const Option* const option = find(term.substr(0, blank));
  if (option == nullptr || blank == term.size()) return option != nullptr && option->value.is_set();
  Json value;
  option->value.write(value);
  return value == std::string(term.substr(blank + 1));
}

void OptionList::check_rules() const {
  for (const Option& option : options_) {
    for (const OptionRule& rule : option.rules) {
      if (!holds(rule.term)) continue;
      std::vector<std::string> others = rule.others;
      std::erase_if(others, [this](std::string_view term) {
        return find(term.substr(0, term.find(' '))) == nullptr;
      });
      const bool any =
          std::ranges::any_of(others, [this](const auto& term) { return holds(term); });
      if (any == rule.needs || others.empty()) continue;
      if (!rule.message.empty()) throw UsageError(rule.message);
      if (!rule.needs) {
        throw UsageError(fmt::format("{} and {} exclude each other: give one of them", rule.term,
                                     others.front()));
      }
      const std::string last = others.back();
      others.pop_back();
      throw UsageError(fmt::format("{} needs {}{}{}", rule.term, fmt::join(others, ", "),
                                   others.empty() ? "" : " or ", last));
    }
  }
}

std::vector<JsonKey> OptionList::json_keys() const {
  std::vector<JsonKey> all;
  for (const JsonKeys keys : json_) {
    for (JsonKey& key : keys("")) {
      if (std::ranges::find(all, key.key, &JsonKey::key) == all.end())
        all.push_back(std::move(key));
    }
  }
  return all;
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
