#include "train/cli/byte_sizes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>

#include "train/cli/usage_error.h"

namespace skyline {
namespace {

constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the bytes of a unit; an empty unit means bytes.
std::optional<std::uint64_t> unit_bytes(std::string_view unit) {
  if (unit.empty()) return 1;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (lower(unit) == lower(kUnits[i])) return std::uint64_t{1} << (10 * i);
  }
  return std::nullopt;
}

// "MB", "M" and "m" → "MiB".
std::optional<std::string_view> binary_unit(std::string_view unit) {
  for (std::size_t i = 1; i < kUnits.size(); ++i) {
    const std::string letter = lower(kUnits[i].substr(0, 1));
    if (lower(unit) == letter || lower(unit) == letter + "b") return kUnits[i];
  }
  return std::nullopt;
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(fmt::format("invalid size '{}': {}", text, why));
}

// Returns number · unit, rounded down. `fraction` holds the digits after the point.
std::uint64_t scaled(std::string_view text, std::string_view whole, std::string_view fraction,
                     std::uint64_t unit) {
  // 128 bits hold 2^63 · 10 as well as 2^50 · 10^18.
  using Wide = unsigned __int128;
  Wide bytes = 0;
  for (const char digit : whole) {
    bytes = bytes * 10 + static_cast<Wide>(digit - '0');
    if (bytes * unit > kLargest) refuse(text, "it is above 2^63 - 1 bytes");
  }
  bytes *= unit;
  if (fraction.size() > 18) refuse(text, "it has more than 18 digits after the point");
  Wide numerator = 0, denominator = 1;
  for (const char digit : fraction) {
    numerator = numerator * 10 + static_cast<Wide>(digit - '0');
    denominator *= 10;
  }
  if (unit == 1 && numerator % denominator != 0) refuse(text, "it is not a whole number of bytes");
  bytes += numerator * unit / denominator;
  if (bytes > kLargest) refuse(text, "it is above 2^63 - 1 bytes");
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  const std::string_view size = trimmed(text);
  std::size_t end = 0;
  while (end < size.size() && is_digit(size[end])) ++end;
  const std::string_view whole = size.substr(0, end);
  std::string_view fraction;
  if (end < size.size() && size[end] == '.') {
    const std::size_t begin = ++end;
    while (end < size.size() && is_digit(size[end])) ++end;
    fraction = size.substr(begin, end - begin);
    if (fraction.empty()) refuse(text, "digits are missing after the point");
  }
  if (whole.empty()) refuse(text, "give a number and a unit, like 8MiB or 16GiB");
  const std::string_view unit = trimmed(size.substr(end));
  if (const auto bytes = unit_bytes(unit)) return scaled(text, whole, fraction, *bytes);
  if (const auto binary = binary_unit(unit)) {
    refuse(text, fmt::format("use KiB, MiB or GiB; did you mean '{}{}'?",
                             trimmed(size.substr(0, end)), *binary));
  }
  refuse(text, fmt::format("unknown unit '{}'; known are: B, KiB, MiB, GiB, TiB, PiB", unit));
}

namespace {

std::string rounded(std::uint64_t bytes, bool up) {
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  // 1023.95 would round to "1024".
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int digits = value >= 999.95 ? 0 : value >= 99.995 ? 1 : 2;
  if (up) value = std::ceil(value * std::pow(10, digits)) / std::pow(10, digits);
  std::string number = fmt::format("{:.{}f}", value, digits);
  if (number.find('.') != std::string::npos) {
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
  }
  return fmt::format("{} {}", number, kUnits[unit]);
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) { return rounded(bytes, false); }
std::string format_bytes_up(std::uint64_t bytes) { return rounded(bytes, true); }

std::string format_bytes_both(std::uint64_t bytes) {
  return fmt::format("{} ({} bytes)", format_bytes(bytes), bytes);
}

std::string format_bytes_exact(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

std::string format_count(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::ptrdiff_t first_digit = count < 0 ? 1 : 0;
  for (std::ptrdiff_t i = std::ssize(text) - 3; i > first_digit; i -= 3) {
    text.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return text;
}

}  // namespace skyline
