#include "data/text/utf8.h"

#include <utf8.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace skyline {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

bool eight_ascii_bytes(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kWordBytes);
  return (word & 0x8080808080808080) == 0;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  try {
    while (at != end) {
      // Most of a text is ASCII. Skipping it by words halves the time for French.
      if (end - at >= static_cast<std::ptrdiff_t>(kWordBytes) && eight_ascii_bytes(at)) {
        at += kWordBytes;
      } else if (static_cast<unsigned char>(*at) < 0x80) {
        ++at;
      } else {
        utf8::next(at, end);
      }
    }
  } catch (const utf8::exception&) {  // it leaves `at` where it was
    return static_cast<std::size_t>(at - text.data());
  }
  return std::nullopt;
}

std::string invalid_utf8_text(std::string_view text, std::size_t position, std::size_t first_byte) {
  std::array<char, 8> byte{};
  std::snprintf(byte.data(), byte.size(), "0x%02x", static_cast<unsigned char>(text[position]));
  return "byte " + std::to_string(first_byte + position + 1) + ": " + byte.data() + " is not UTF-8";
}

}  // namespace skyline
