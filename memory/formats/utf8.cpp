#include "memory/formats/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace skyline {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::uint8_t at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<std::uint8_t>(text[index]) : std::uint8_t{0};
}

// The bytes of the character at the start of the text; 0 when they are not valid (Unicode 15,
// table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t character_bytes(std::string_view text) {
  const std::uint8_t first = at(text, 0), second = at(text, 1);
  const auto continues = [](std::uint8_t byte) { return (byte & 0xc0) == 0x80; };
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !continues(second)) return 0;
  if (first < 0xe0) return 2;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  if (overlong || beyond || !continues(at(text, 2))) return 0;
  if (first < 0xf0) return 3;
  return continues(at(text, 3)) ? 4 : 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<std::uint8_t>(c) < 0x80; });
  if (plain) return std::string(text);
  std::string valid;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    valid += bytes == 0 ? kReplacement : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return valid;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<std::uint8_t>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

}  // namespace skyline
