#include "data/text/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "data/text/numbers.h"
#include "tests/data/data_error_of.h"
#include "tests/data/test_random.h"
#include "tests/data/text/text_files.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

ByteReader reader_of(std::string_view text) { return {"a.txt", {text.begin(), text.end()}}; }
TextStream read(std::string_view text) { return read_characters(reader_of(text)); }

TEST(TextStream, NumbersCharactersInTheOrderOfTheirCodePoints) {
  const TextStream stream = read("baé\nb");
  EXPECT_EQ(stream.vocabulary, 4u);
  EXPECT_EQ(stream.characters.file_text(), "\nabé");
  EXPECT_THAT(stream.words, ElementsAre(2, 1, 3, 0, 2));
  EXPECT_EQ(stream.characters.decode(stream.words), "baé\nb");
}

TEST(TextStream, CutsNoCharacterAtThePiecesOfAFile) {
  for (const std::string character : {"é", "語", "😀"}) {
    std::string text = "x";
    while (text.size() < 300'000) text += character;
    const TextStream stream = read(text);
    EXPECT_EQ(stream.characters.decode(stream.words), text);
  }
}

TEST(TextStream, SkipsAByteOrderMarkAtItsStartOnly) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(read(mark + "ab").words.size(), 2u);
  EXPECT_EQ(read(mark + mark + "ab").words.size(), 3u);
}

TEST(TextStream, TrainsWithNineTenths) {
  for (const std::size_t size : {1u, 9u, 10u, 11u, 19u, 20u}) {
    const TextStream stream = read(std::string(size, 'a'));
    EXPECT_EQ(stream.training().size(), size * 9 / 10);
    EXPECT_EQ(stream.training().size() + stream.validation().size(), size);
  }
}

TEST(TextStream, NamesAByteThatIsNotUtf8) {
  EXPECT_THAT(data_error_of([] {
                read(
                    "ab\nc\xff"
                    "d");
              }),
              HasSubstr("[a.txt] line 2, byte 2: 0xff is not UTF-8"));
  const std::string cut = data_error_of([] { read("é\n\xc3"); });
  EXPECT_THAT(cut, HasSubstr("line 2, byte 1: 0xc3 is not UTF-8"));
  std::string far_bytes(200'000, 'a');
  far_bytes += '\xff';
  const std::string far = data_error_of([&] { read(far_bytes); });
  EXPECT_THAT(far, HasSubstr("line 1, byte 200001: 0xff is not UTF-8"));
}

TEST(TextStream, RefusesOtherFiles) {
  EXPECT_THAT(data_error_of([] { read(""); }), HasSubstr("is empty"));
  EXPECT_THAT(data_error_of([] { read("\xef\xbb\xbf"); }), HasSubstr("is empty"));
  EXPECT_THAT(data_error_of([] { read("\xff\xfe"s + "a\0"s); }), HasSubstr("is UTF-16LE"));
}

TEST(TextStream, RefusesMoreCharactersThanHaveNumbers) {
  std::u32string all(CharacterSet::kMost, U' ');
  std::iota(all.begin(), all.end(), U'\U00010000');
  const std::string text = CharacterSet("all", all).file_text();
  EXPECT_EQ(read(text).vocabulary, CharacterSet::kMost);
  EXPECT_THAT(data_error_of([&] { read(text + "a"); }),
              HasSubstr("number of characters, got 65537, expected 1 to 65536"));
}

TEST(TextStream, NamesACharacterThatTrainingLacked) {
  const CharacterSet known = read("abc \n").characters;
  EXPECT_EQ(read_characters(reader_of("cab"), &known).words, known.encode("x", "cab"));
  EXPECT_EQ(
      data_error_of([&] { read_characters(reader_of("ab\na é"), &known); }),
      "[a.txt] line 2, character 3: 'é' (U+00E9) is none of the 5 characters of the training");
  EXPECT_EQ(data_error_of([&] { known.encode("--prompt", "a\x01"); }),
            "[--prompt] line 1, character 2: '\\x01' (U+0001) is none of the 5 characters of the "
            "training");
}

TEST(CharacterSet, IsEqualAfterWritingAndReading) {
  const TemporaryFolder folder;
  const CharacterSet set = read("zé\n😀a").characters;
  EXPECT_EQ(CharacterSet::open(write_text(folder, "set.txt", set.file_text())), set);
  EXPECT_THAT(set.fingerprint(), HasSubstr("5 characters, crc32 "));
  for (const char* damaged : {"", "ba", "aab"}) {
    EXPECT_NE(data_error_of([&] { CharacterSet::parse("set", damaged); }), "");
  }
  EXPECT_THAT(data_error_of([&] {
                CharacterSet::open(
                    write_text(folder, "long.txt", std::string(5 * CharacterSet::kMost, 'a')));
              }),
              HasSubstr("is no set of characters"));
}

TEST(Tokens, AreNumbersOfSixteenBits) {
  const TextStream stream = read_tokens(reader_of("\x01\x02\xff\x00"s), 0x300);
  EXPECT_THAT(stream.words, ElementsAre(0x201, 0xff));
  EXPECT_EQ(stream.characters.size(), 0u);
  EXPECT_EQ(data_error_of([] { read_tokens(reader_of("abc"), 65'536); }),
            "[a.txt] has an odd number of bytes, expected numbers of 16 bits");
  EXPECT_EQ(data_error_of([] { read_tokens(reader_of("\1\0\2\0"s), 2); }),
            "[a.txt] word 1, got 2, expected 0 to 1");
}

TEST(Sums, DependOnSizeAndSeedAlone) {
  const auto text = [](std::size_t size, std::uint64_t seed) {
    const TextStream stream = sums_text(size, test_random(seed));
    return stream.characters.decode(stream.words);
  };
  const std::string sums = text(2000, 1);
  EXPECT_EQ(sums.size(), 2000u);
  EXPECT_EQ(sums, text(3000, 1).substr(0, 2000));
  EXPECT_NE(sums, text(2000, 2));
  const std::string first = sums.substr(0, sums.find('\n'));
  std::size_t right = 0;
  for (std::uint32_t a = 0; a < 100; ++a) {
    for (std::uint32_t b = 0; b < 100; ++b) {
      right += first ==
               english_number(a) + " plus " + english_number(b) + " is " + english_number(a + b);
    }
  }
  EXPECT_EQ(right, 1u) << first;
}

}  // namespace
}  // namespace skyline
