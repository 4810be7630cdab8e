#include "train/cli/figures.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "data/host.h"
#include "train/cli/byte_sizes.h"

namespace skyline {

using Json = nlohmann::ordered_json;

std::string_view unit_name(Unit unit) {
  constexpr std::array<std::string_view, 11> kNames = {"bytes", "count",  "share",  "seconds",
                                                       "ns",    "number", "text",   "true or false",
                                                       "list",  "object", "by name"};
  return kNames[static_cast<std::size_t>(unit)];
}

Value::Value() : Value(Json(nullptr)) {}
Value::Value(const Json& json) : json_(std::make_shared<Json>(json)) {}
Value::Value(bool flag) : Value(Json(flag)) {}
Value::Value(std::int64_t number) : Value(Json(number)) {}
Value::Value(std::uint64_t number) : Value(Json(number)) {}
Value::Value(double number) : Value(Json(number)) {}
Value::Value(std::string_view text) : Value(Json(text)) {}
Value Value::list() { return Json::array(); }
Value Value::object() { return Json::object(); }
Value Value::absent() {
  Value value;
  value.json_.reset();
  return value;
}

bool Value::is_null() const { return json_ != nullptr && json_->is_null(); }
double Value::number() const { return json_->get<double>(); }
Value Value::at(std::string_view key) const {
  const auto found = json_->find(key);
  return found == json_->end() ? absent() : Value(*found);
}
void Value::push(const Value& element) { json_->push_back(element.json()); }

void Value::set(std::string_view key, const Value& value) {
  if (value.is_absent() || (key.empty() && value.is_null())) return;
  if (key.empty()) {
    json_->update(value.json());
  } else {
    (*json_)[std::string(key)] = value.json();
  }
}

std::string json_text(const Value& value) {
  // JSON allows to escape all that a terminal could obey; it stands in strings only.
  std::string text;
  for (const char c : value.json().dump(2, ' ', false, Json::error_handler_t::replace)) {
    c == '\x7f' ? text.append("\\u007f") : text.append(1, c);
  }
  return printable_lines(text);
}

std::string page_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string figure_text(Unit unit, const Value& value) {
  if (value.is_absent() || value.is_null()) return {};
  switch (unit) {
    case Unit::kBytes:
      return format_bytes(static_cast<std::uint64_t>(value.number()));
    case Unit::kCount:
      return format_count(static_cast<std::int64_t>(value.number()));
    case Unit::kShare:
      return percent(value.number());
    case Unit::kSeconds:
      return fmt::format("{:.2f} ms", 1e3 * value.number());
    default:
      return value.json().is_string() ? value.json().get<std::string>() : value.json().dump();
  }
}

std::string csv_cells(const Value& object, std::span<const std::string_view> keys) {
  std::string cells;
  for (const std::string_view key : keys) {
    const Value figure = object.at(key);
    cells += "," + (figure.is_absent() || figure.is_null() ? "" : figure.json().dump());
  }
  return cells;
}

std::string format_seconds(double seconds, std::optional<int> digits) {
  const double shown = seconds < 1 ? 1e3 * seconds : seconds;
  return (digits ? fmt::format("{:.{}f}", shown, *digits) : fmt::format("{:.3g}", shown)) +
         (seconds < 1 ? " ms" : " s");
}

std::string percent(double share, int digits) {
  const std::string text = fmt::format("{:.{}f}", 100 * share, digits);
  const bool is_zero = text.find_first_not_of("-0.") == text.npos;
  return (is_zero && text.starts_with('-') ? text.substr(1) : text) + " %";
}

}  // namespace skyline
