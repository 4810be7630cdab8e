#include "memory/formats/sink.h"

#include <utf8.h>

#include <algorithm>
#include <cstdint>
#include <istream>
#include <limits>
#include <ostream>

#include "memory/errors.h"

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

std::string text_to_end(std::istream& in, std::string head, std::size_t most) {
  constexpr std::size_t kFirstPieceBytes = std::size_t{1} << 12;
  std::string text = std::move(head);
  while (in && text.size() <= most) {
    const std::size_t length = text.size();
    const std::size_t piece = std::max(length, kFirstPieceBytes);
    text.resize(length + piece);
    in.read(text.data() + length, static_cast<std::streamsize>(piece));
    text.resize(length + static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

std::string whole_text(std::istream& in, std::string_view source) {
  std::string text = text_to_end(in, {}, std::numeric_limits<std::size_t>::max());
  if (in.bad()) {
    throw GraphError({.source = std::string(source), .problem = "the text cannot be read"});
  }
  return text;
}

}  // namespace skyline
