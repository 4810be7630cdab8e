#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace skyline {

// Figures are told once. Each answer of a command has a table of rows, one a figure; JSON, the data
// of pages, CSV, tables of text and `skyline help json` are written from it:
//
//   Rows<PlanCheck> rows(const PlanCheck*) {
//     return {{"peak", kBytes, "the highest byte in use", &PlanCheck::peak},
//             {"gap", kShare, "above the bound", [](auto& check) { return check.plan.gap(); }}};
//   }
//
//   json_text(value_of(check))   // {"peak": 512, "gap": 0.0}
//
// An answer's header declares rows(); its source defines it, beside the answer's text.

enum class Unit {
  kBytes,
  kCount,
  kShare,
  kSeconds,
  kNanoseconds,
  kNumber,  // of something, or without a unit
  kText,
  kFlag,
  kList,
  kObject,
  kByName  // an object whose keys are names
};
using Unit::kBytes, Unit::kCount, Unit::kShare, Unit::kSeconds, Unit::kNanoseconds, Unit::kNumber;
std::string_view unit_name(Unit unit);  // "bytes"

// What a figure says: JSON behind a pointer, because the JSON library's header is expensive.
class Value {
 public:
  Value();                                    // null: unknown, or does not apply
  Value(const nlohmann::ordered_json& json);  // NOLINT: as the next
  explicit Value(bool flag);
  explicit Value(std::int64_t number);
  explicit Value(std::uint64_t number);
  explicit Value(double number);
  explicit Value(std::string_view text);
  static Value list();
  static Value object();
  static Value absent();  // an object leaves out the key

  bool is_null() const;
  bool is_absent() const { return json_ == nullptr; }
  double number() const;  // of a number
  const nlohmann::ordered_json& json() const { return *json_; }
  Value at(std::string_view key) const;  // of an object; absent: it has no such key

  void push(const Value& element);                     // to a list
  void set(std::string_view key, const Value& value);  // in an object; "": all that value holds

 private:
  std::shared_ptr<nlohmann::ordered_json> json_;  // null: absent
};

// A key of the JSON that a command prints.
struct JsonKey {
  std::string key;  // "cut.values.bytes"; NAME stands for a name: "allocators.NAME.flushes"
  Unit unit = Unit::kText;
  std::string_view meaning;
};

template <typename T>
struct Row;
template <typename T>
using Rows = std::vector<Row<T>>;

// A figure that only some answers have: the others leave out the key.
template <typename T>
struct IfKnown {
  std::optional<T> thing;
};

// A type whose figures are rows.
template <typename T>
concept Told = requires(const T* answer) {
  { rows(answer) } -> std::same_as<Rows<T>>;
};

template <typename T>
Value value_of(const T& thing);

template <Told T>
const Rows<T>& rows_of() {
  static const Rows<T> all = rows(static_cast<const T*>(nullptr));
  return all;
}

template <typename T>
Value object_of(const Rows<T>& rows, const T& answer) {
  Value object = Value::object();
  for (const Row<T>& row : rows) object.set(row.key, row.get(answer));
  return object;
}

template <typename T>
std::vector<JsonKey> keys_of(const Rows<T>& rows, const std::string& prefix) {
  std::vector<JsonKey> all;
  for (const Row<T>& row : rows) {
    const std::string key(row.key);
    if (!key.empty()) all.push_back({prefix + key, row.unit, row.title});
    const auto below = row.below(key.empty() ? prefix : prefix + key + ".");
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}
// The keys of an answer and of all below it, each after `prefix`.
template <Told T>
std::vector<JsonKey> keys(const std::string& prefix = "") {
  return keys_of(rows_of<T>(), prefix);
}

// The type that T holds or stands for, if it does.
template <typename T>
struct Inner {};
template <typename T>
struct Inner<std::optional<T>> : std::type_identity<T> {};
template <typename T>
struct Inner<IfKnown<T>> : std::type_identity<T> {};
template <typename T>
concept HasInner = requires {
  typename Inner<T>::type;
};
// Pairs of a name and a value.
template <typename T>
inline constexpr bool kIsByName = false;
template <std::ranges::range T>
inline constexpr bool kIsByName<T> = requires {
  typename std::ranges::range_value_t<T>::second_type;
};
template <typename T>
concept TextLike = std::convertible_to<const T&, std::string_view>;

template <typename T>
constexpr Unit unit_of() {
  if constexpr (HasInner<T>) {
    return unit_of<typename Inner<T>::type>();
  } else if constexpr (kIsByName<T>) {
    return Unit::kByName;
  } else if constexpr (std::same_as<T, bool>) {
    return Unit::kFlag;
  } else if constexpr (Told<T>) {
    return Unit::kObject;
  } else {
    return std::ranges::range<T> && !TextLike<T> ? Unit::kList : Unit::kText;
  }
}

template <typename T>
std::vector<JsonKey> keys_below(const std::string& prefix) {
  if constexpr (HasInner<T>) {
    return keys_below<typename Inner<T>::type>(prefix);
  } else if constexpr (kIsByName<T>) {
    return keys_below<typename std::ranges::range_value_t<T>::second_type>(prefix + "NAME.");
  } else if constexpr (Told<T>) {
    return keys<T>(prefix);
  } else if constexpr (std::ranges::range<T> && !TextLike<T>) {
    return keys_below<std::ranges::range_value_t<T>>(prefix);
  } else {
    return {};
  }
}

// One figure of an answer. `title` says what it is: it heads columns of text, and `skyline help
// json` prints it. `get` is a member or a function of the answer; what it returns becomes a value.
// A key "" means that the keys of what `get` returns stand here themselves.
template <typename T>
struct Row {
  std::string_view key;
  Unit unit;
  std::string_view title;
  std::function<Value(const T&)> get;
  std::function<std::vector<JsonKey>(const std::string& prefix)> below;

  template <typename Get>
  Row(std::string_view name, Unit of, std::string_view words, Get figure)
      : key(name),
        unit(of),
        title(words),
        get([figure](const T& answer) { return value_of(std::invoke(figure, answer)); }),
        below(keys_below<std::decay_t<std::invoke_result_t<Get, const T&>>>) {}
  // For figures whose type says what they are: texts, flags, lists and objects.
  template <typename Get>
  Row(std::string_view name, std::string_view words, Get figure)
      : Row(name, unit_of<std::decay_t<std::invoke_result_t<Get, const T&>>>(), words, figure) {}
  // For an object of figures of the same answer; null unless `known`.
  Row(
      std::string_view name, std::string_view words, Rows<T> inside,
      bool (*known)(const T&) = [](const T&) { return true; })
      : key(name),
        unit(Unit::kObject),
        title(words),
        get([inside, known](const T& answer) {
          return known(answer) ? object_of(inside, answer) : Value();
        }),
        below([inside](const std::string& prefix) { return keys_of(inside, prefix); }) {}
};

template <typename T>
Value value_of(const T& thing) {
  if constexpr (std::same_as<T, Value>) {
    return thing;
  } else if constexpr (std::same_as<T, bool>) {
    return Value(thing);
  } else if constexpr (std::floating_point<T>) {
    return Value(double{thing});
  } else if constexpr (std::integral<T>) {
    return Value(
        static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(thing));
  } else if constexpr (TextLike<T>) {
    return Value(std::string_view(thing));
  } else if constexpr (requires { *thing.thing; }) {
    return thing.thing ? value_of(*thing.thing) : Value::absent();
  } else if constexpr (HasInner<T>) {
    return thing ? value_of(*thing) : Value();
  } else if constexpr (kIsByName<T>) {
    Value object = Value::object();
    for (const auto& [name, entry] : thing) object.set(name, value_of(entry));
    return object;
  } else if constexpr (Told<T>) {
    return object_of(rows_of<T>(), thing);
  } else if constexpr (std::ranges::range<T>) {
    Value list = Value::list();
    for (const auto& element : thing) list.push(value_of(element));
    return list;
  } else {
    return Value(thing);
  }
}

template <typename T>
IfKnown<T> if_known(std::optional<T> thing) {
  return {std::move(thing)};
}
// The same of a function that returns an optional.
template <typename Figure>
auto if_known(Figure figure) {
  return [figure](const auto& answer) { return if_known(std::invoke(figure, answer)); };
}
template <typename T>
IfKnown<T> only_if(bool known, T thing) {
  return {known ? std::optional<T>(std::move(thing)) : std::nullopt};
}
// A figure of a part that may be unknown: of(&PlanResult::plan, &Plan::peak).
template <typename Part, typename Figure>
auto of(Part part, Figure figure) {
  return [part, figure](const auto& answer) {
    const auto& known = std::invoke(part, answer);
    using Found = std::decay_t<decltype(std::invoke(figure, *known))>;
    return known ? std::optional<Found>(std::invoke(figure, *known)) : std::nullopt;
  };
}

// --- Writers ---

template <typename T, typename Json = nlohmann::ordered_json>
requires Told<T> || Told<std::ranges::range_value_t<T>> Json to_json(const T& answer) {
  return value_of(answer).json();
}
// The text of a JSON object as commands print it, without a final newline. Bytes that are not
// UTF-8, as file names may hold, become U+FFFD, so that a finished run does not fail at its report.
std::string json_text(const Value& value);
// The same in one line, for pages.
std::string page_text(const nlohmann::ordered_json& json);
// A cell of a table: "1.5 MiB", "1,234", "0.12 %", "31.25 ms"; empty if the figure is unknown.
std::string figure_text(Unit unit, const Value& value);
// The object's figures under these keys, each after a comma; unknown ones are empty.
std::string csv_cells(const Value& object, std::span<const std::string_view> keys);

// Returns the upper median, or nothing if there are no values.
template <typename T>
std::optional<double> median(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// "31.2 ms", "1.25 s": three digits, or so many after the point.
std::string format_seconds(double seconds, std::optional<int> digits = {});
std::string percent(double share, int digits = 2);  // "12.34 %", never "-0.00 %"

}  // namespace skyline
