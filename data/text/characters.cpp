#include "data/text/characters.h"

#include <utf8.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace skyline {
namespace {

// The zeros of the 66 sets of ten digits (Unicode 14, UnicodeData.txt).
constexpr char32_t kZeros[] = {
    0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,
    0xc66,   0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,
    0x1810,  0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,
    0xa8d0,  0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
    0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2,
    0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
};

// Adds `change` to the code points first, first + stride, …, last (Unicode 14, UnicodeData.txt,
// simple lower-case mappings, without those that need more bytes).
struct LetterRun {
  char32_t first, last;
  int change;
  unsigned stride;
};
constexpr LetterRun kUpperCase[] = {
    {0xc0, 0xd6, 32, 1},     {0xd8, 0xde, 32, 1},     {0x100, 0x12e, 1, 2},
    {0x130, 0x130, -199, 1}, {0x132, 0x136, 1, 2},    {0x139, 0x147, 1, 2},
    {0x14a, 0x176, 1, 2},    {0x178, 0x178, -121, 1}, {0x179, 0x17d, 1, 2},
    {0x181, 0x181, 210, 1},  {0x182, 0x184, 1, 2},    {0x186, 0x186, 206, 1},
    {0x187, 0x187, 1, 1},    {0x189, 0x18a, 205, 1},  {0x18b, 0x18b, 1, 1},
    {0x18e, 0x18e, 79, 1},   {0x18f, 0x18f, 202, 1},  {0x190, 0x190, 203, 1},
    {0x191, 0x191, 1, 1},    {0x193, 0x193, 205, 1},  {0x194, 0x194, 207, 1},
    {0x196, 0x196, 211, 1},  {0x197, 0x197, 209, 1},  {0x198, 0x198, 1, 1},
    {0x19c, 0x19c, 211, 1},  {0x19d, 0x19d, 213, 1},  {0x19f, 0x19f, 214, 1},
    {0x1a0, 0x1a4, 1, 2},    {0x1a6, 0x1a6, 218, 1},  {0x1a7, 0x1a7, 1, 1},
    {0x1a9, 0x1a9, 218, 1},  {0x1ac, 0x1ac, 1, 1},    {0x1ae, 0x1ae, 218, 1},
    {0x1af, 0x1af, 1, 1},    {0x1b1, 0x1b2, 217, 1},  {0x1b3, 0x1b5, 1, 2},
    {0x1b7, 0x1b7, 219, 1},  {0x1b8, 0x1b8, 1, 1},    {0x1bc, 0x1bc, 1, 1},
    {0x1c4, 0x1c4, 2, 1},    {0x1c5, 0x1c5, 1, 1},    {0x1c7, 0x1c7, 2, 1},
    {0x1c8, 0x1c8, 1, 1},    {0x1ca, 0x1ca, 2, 1},    {0x1cb, 0x1db, 1, 2},
    {0x1de, 0x1ee, 1, 2},    {0x1f1, 0x1f1, 2, 1},    {0x1f2, 0x1f4, 1, 2},
    {0x1f6, 0x1f6, -97, 1},  {0x1f7, 0x1f7, -56, 1},  {0x1f8, 0x21e, 1, 2},
    {0x220, 0x220, -130, 1}, {0x222, 0x232, 1, 2},    {0x23b, 0x23b, 1, 1},
    {0x23d, 0x23d, -163, 1}, {0x241, 0x241, 1, 1},    {0x243, 0x243, -195, 1},
    {0x244, 0x244, 69, 1},   {0x245, 0x245, 71, 1},   {0x246, 0x24e, 1, 2},
    {0x370, 0x372, 1, 2},    {0x376, 0x376, 1, 1},    {0x37f, 0x37f, 116, 1},
    {0x386, 0x386, 38, 1},   {0x388, 0x38a, 37, 1},   {0x38c, 0x38c, 64, 1},
    {0x38e, 0x38f, 63, 1},   {0x391, 0x3a1, 32, 1},   {0x3a3, 0x3ab, 32, 1},
    {0x3cf, 0x3cf, 8, 1},    {0x3d8, 0x3ee, 1, 2},    {0x3f4, 0x3f4, -60, 1},
    {0x3f7, 0x3f7, 1, 1},    {0x3f9, 0x3f9, -7, 1},   {0x3fa, 0x3fa, 1, 1},
    {0x3fd, 0x3ff, -130, 1}, {0x400, 0x40f, 80, 1},   {0x410, 0x42f, 32, 1},
    {0x460, 0x480, 1, 2},    {0x48a, 0x4be, 1, 2},    {0x4c0, 0x4c0, 15, 1},
    {0x4c1, 0x4cd, 1, 2},    {0x4d0, 0x52e, 1, 2},
};

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

bool eight_ascii_bytes(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kWordBytes);
  return (word & 0x8080808080808080) == 0;
}

}  // namespace

bool is_white_space(char32_t c) noexcept {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0d) || c >= 0x1c;
  if (c < 0x2000) return c == 0x85 || c == 0xa0 || c == 0x1680;
  return c <= 0x200a || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_decimal_digit(char32_t c) noexcept {
  const auto* after = std::upper_bound(std::begin(kZeros), std::end(kZeros), c);
  return after != std::begin(kZeros) && c - after[-1] < 10;
}

char32_t lower_case(char32_t c) noexcept {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  const auto* run = std::lower_bound(
      std::begin(kUpperCase), std::end(kUpperCase), c,
      [](const LetterRun& letters, char32_t value) { return letters.last < value; });
  if (run == std::end(kUpperCase) || c < run->first || (c - run->first) % run->stride != 0)
    return c;
  return static_cast<char32_t>(static_cast<int>(c) + run->change);
}

std::string lower_case(std::string_view text) {
  std::string lower;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    utf8::unchecked::append(lower_case(utf8::unchecked::next(at)), std::back_inserter(lower));
  }
  return lower;
}

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

// Without a mark, it is the zero bytes beside ASCII, line ends among them, that tell: at odd places
// in UTF-16LE, at even ones in UTF-16BE.
std::string_view wide_encoding(std::string_view start) noexcept {
  using namespace std::string_view_literals;
  for (const auto& [mark, name] : {std::pair("\xff\xfe\0\0"sv, "UTF-32LE"sv),
                                   {"\0\0\xfe\xff"sv, "UTF-32BE"sv},
                                   {"\xff\xfe"sv, "UTF-16LE"sv},
                                   {"\xfe\xff"sv, "UTF-16BE"sv}}) {
    if (start.starts_with(mark)) return name;
  }
  std::array<std::ptrdiff_t, 2> zeros{};  // at even and at odd places
  for (std::size_t i = 0; i < start.size(); ++i) zeros[i % 2] += start[i] == '\0' ? 1 : 0;
  const auto [less, more] = std::minmax(zeros[0], zeros[1]);
  if (more < 2 || 2 * more < std::ranges::count(start, '\n')) return {};
  if (4 * less <= more) return zeros[1] > zeros[0] ? "UTF-16LE" : "UTF-16BE";
  if (4 * (less + more) < 3 * std::ssize(start) - 8) return {};
  return start.front() == '\0' ? "UTF-32BE" : "UTF-32LE";
}

std::string invalid_utf8_text(std::string_view text, std::size_t position, std::size_t first_byte) {
  std::array<char, 8> byte{};
  std::snprintf(byte.data(), byte.size(), "0x%02x", static_cast<unsigned char>(text[position]));
  return "byte " + std::to_string(first_byte + position + 1) + ": " + byte.data() + " is not UTF-8";
}

std::string fingerprint(std::size_t count, const std::string& items, std::string_view text) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%08lx",
                crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  return std::to_string(count) + " " + items + ", crc32 " + digits.data();
}

}  // namespace skyline
