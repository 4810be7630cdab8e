#include "data/text/characters.h"

#include <gtest/gtest.h>
#include <utf8.h>

#include <iterator>

#include "tests/data/test_random.h"

namespace skyline {
namespace {

constexpr char32_t kLast = 0x10ffff;
bool is_surrogate(char32_t c) { return c >= 0xd800 && c < 0xe000; }

// Unchecked, so that it also encodes what is not a code point.
void append_utf8(std::string& text, char32_t c) {
  utf8::unchecked::append(c, std::back_inserter(text));
}

TEST(Utf8, EveryCodePointIsWrittenCheckedAndReadBack) {
  for (char32_t c = 0; c <= kLast; ++c) {
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(first_invalid_utf8(text).has_value(), is_surrogate(c)) << std::hex << +c;
    if (is_surrogate(c)) continue;
    const char* at = text.data();
    ASSERT_EQ(utf8::unchecked::next(at), c);
    ASSERT_EQ(at, text.data() + text.size());
  }
}

TEST(Utf8, TheFirstBadByteIsFoundWhereverItStands) {
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x9f\xbf", "\xe2\x82",
        "\xe2(\xa1", "\xe2\x82(", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98",
        "\xf0\x9f\x98(", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff"}) {
    for (const char* before : {"", "a", "1234567", "12345678", "123456789", "déjà vu ", "€𝒳"}) {
      for (const char* after : {"", "b", "abcdefghi", "é"}) {
        const std::string text = std::string(before) + bad + after;
        EXPECT_EQ(first_invalid_utf8(text), std::string_view(before).size()) << text;
      }
    }
  }
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("Ça coûte 5 € 😀, Ελληνικά"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8(std::string_view("a\0b", 3)), std::nullopt);
}

TEST(Utf8, ErrorsCountBytesFromOne) {
  EXPECT_EQ(invalid_utf8_text("ab\xff", 2), "byte 3: 0xff is not UTF-8");
  EXPECT_EQ(invalid_utf8_text("\x80", 0, 10), "byte 11: 0x80 is not UTF-8");
}

// Cuts random text and changes single bytes. Nothing is read past the end (sanitizers check that),
// and accepted text decodes to code points that encode to the same bytes.
TEST(Utf8, RandomBytesAreAcceptedOnlyWhenTheyEncodeCodePoints) {
  const RandomBits random = test_random(3);
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const auto words = random(0, round);
    std::string text;
    for (int i = 0; i < 4; ++i) append_utf8(text, words[static_cast<std::size_t>(i)] >> 13);
    text.resize(words[0] % (text.size() + 1));
    if (!text.empty()) text[words[1] % text.size()] ^= static_cast<char>(words[2] & words[3]);
    const std::size_t end = first_invalid_utf8(text).value_or(text.size());
    std::string again;
    for (const char* at = text.data(); at != text.data() + end;) {
      const char32_t c = utf8::unchecked::next(at);
      ASSERT_FALSE(is_surrogate(c));
      ASSERT_LE(c, kLast);
      append_utf8(again, c);
    }
    ASSERT_EQ(again, text.substr(0, end));
  }
}

TEST(Characters, AreCountedAsUnicodeDoes) {
  int spaces = 0, digits = 0, capitals = 0;
  for (char32_t c = 0; c <= kLast; ++c) {
    spaces += is_white_space(c);
    digits += is_decimal_digit(c);
    const char32_t lower = lower_case(c);
    capitals += lower != c;
    ASSERT_EQ(lower_case(lower), lower) << std::hex << +c;
    std::string before, after;
    append_utf8(before, c);
    append_utf8(after, lower);
    ASSERT_LE(after.size(), before.size()) << std::hex << +c;
  }
  EXPECT_EQ(spaces, 29);     // 25 of White_Space, and U+001C to U+001F
  EXPECT_EQ(digits, 660);    // general category Nd of Unicode 14
  EXPECT_EQ(capitals, 429);  // A to Z, and the header's alphabets as Python counts them
}

TEST(Characters, SmallLettersOfSeveralAlphabets) {
  const auto lower = [](const std::u32string& text) {
    std::u32string small;
    for (const char32_t c : text) small += lower_case(c);
    return small;
  };
  EXPECT_EQ(lower(U"AZÀÖØÞĀŁŒŸŽȘĲ[@×ß"), U"azàöøþāłœÿžșĳ[@×ß");
  EXPECT_EQ(lower(U"ΆΑΡΣΩ ЀЁАЯѢ"), U"άαρσω ѐёаяѣ");
  EXPECT_EQ(lower(U"déjà 0 漢字 😀"), U"déjà 0 漢字 😀");
}

}  // namespace
}  // namespace skyline
