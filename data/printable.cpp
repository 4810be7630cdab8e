#include "data/printable.h"

#include <array>
#include <cstdio>

namespace skyline {

std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", byte);
      text += escape.data();
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace skyline
