#include "memory/formats/sink.h"

#include <utf8.h>

#include <cstdint>
#include <ostream>

namespace skyline {
namespace {

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (true) {
    const auto invalid = utf8::find_invalid(text.begin(), text.end());
    valid.append(text.begin(), invalid);
    if (invalid == text.end()) return valid;
    valid += "\xef\xbf\xbd";
    text.remove_prefix(static_cast<std::size_t>(invalid - text.begin()) + 1);
  }
}

}  // namespace

Sink stream_sink(std::ostream& out) {
  return [&out](std::string_view bytes) {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  };
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
