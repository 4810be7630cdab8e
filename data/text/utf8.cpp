#include "data/text/utf8.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace skyline {
namespace {

unsigned byte_at(std::string_view text, std::size_t position) {
  return static_cast<unsigned char>(text[position]);
}

// The second byte's range for a lead byte of two to four (Unicode 15, table 3-7); the later ones
// are 80 to BF always.
struct Sequence {
  std::size_t bytes;
  unsigned least_second, most_second;
};

Sequence sequence_of(unsigned lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};  // less is overlong
  if (lead == 0xed) return {3, 0x80, 0x9f};  // more is a surrogate
  if (lead >= 0xe1 && lead <= 0xef) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};  // less is overlong
  if (lead >= 0xf1 && lead <= 0xf3) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};  // more is above U+10FFFF
  return {0, 0, 0};
}

// Bytes of the well-formed sequence of two to four that begins there; 0 when there is none.
std::size_t sequence_bytes(std::string_view text, std::size_t position) {
  const Sequence sequence = sequence_of(byte_at(text, position));
  if (sequence.bytes == 0 || text.size() - position < sequence.bytes) return 0;
  const unsigned second = byte_at(text, position + 1);
  if (second < sequence.least_second || second > sequence.most_second) return 0;
  for (std::size_t i = 2; i < sequence.bytes; ++i) {
    if ((byte_at(text, position + i) & 0xc0) != 0x80) return 0;
  }
  return sequence.bytes;
}

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

bool eight_ascii_bytes(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kWordBytes);
  return (word & 0x8080808080808080) == 0;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) noexcept {
  std::size_t position = 0;
  while (position < text.size()) {
    if (text.size() - position >= kWordBytes && eight_ascii_bytes(text.data() + position)) {
      position += kWordBytes;
    } else if (byte_at(text, position) < 0x80) {
      ++position;
    } else {
      const std::size_t bytes = sequence_bytes(text, position);
      if (bytes == 0) return position;
      position += bytes;
    }
  }
  return std::nullopt;
}

std::string invalid_utf8_text(std::string_view text, std::size_t position, std::size_t first_byte) {
  std::array<char, 8> byte{};
  std::snprintf(byte.data(), byte.size(), "0x%02x", byte_at(text, position));
  return "byte " + std::to_string(first_byte + position + 1) + ": " + byte.data() + " is not UTF-8";
}

CodePoint code_point_at(std::string_view text, std::size_t position) noexcept {
  const unsigned lead = byte_at(text, position);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t value = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) value = value << 6 | (byte_at(text, position + i) & 0x3f);
  return {value, bytes};
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto tail = [code_point](int shift) {
    return static_cast<char>(0x80 | (code_point >> shift & 0x3f));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += {static_cast<char>(0xc0 | code_point >> 6), tail(0)};
  } else if (code_point < 0x10000) {
    text += {static_cast<char>(0xe0 | code_point >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xf0 | code_point >> 18), tail(12), tail(6), tail(0)};
  }
}

}  // namespace skyline
