#include "data/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/data_error_of.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Tokenizer, SplitsAtWhiteSpaceOfEveryKind) {
  EXPECT_THAT(tokenize("  a b\tc\r\nd\u00a0e\u2009f\u202fg\u3000h\x1ci\v"),
              ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", "i"));
  EXPECT_THAT(tokenize(""), IsEmpty());
  EXPECT_THAT(tokenize(" \t\u00a0 "), IsEmpty());
}

TEST(Tokenizer, MarksAreWordsWhereverTheyStand) {
  EXPECT_THAT(tokenize("Hello, (world)! \"Why?\" He's: a;b."),
              ElementsAre("Hello", ",", "(", "world", ")", "!", "\"", "Why", "?", "\"", "He", "'",
                          "s", ":", "a", ";", "b", "."));
  EXPECT_THAT(tokenize("..."), ElementsAre(".", ".", "."));
  // Other marks stay in their words.
  EXPECT_THAT(
      tokenize("well-known 5% [a] a/b «oui» – l\u2018a $ & *"),
      ElementsAre("well-known", "0%", "[a]", "a/b", "«oui»", "–", "l\u2018a", "$", "&", "*"));
}

TEST(Tokenizer, TheTypographicApostropheIsThePlainOne) {
  EXPECT_THAT(tokenize("l\u2019été d'hier"), ElementsAre("l", "'", "été", "d", "'", "hier"));
}

TEST(Tokenizer, DigitsBecomeZero) {
  EXPECT_THAT(tokenize("In 1997: 3,141.5 km2"),
              ElementsAre("In", "0000", ":", "0", ",", "000", ".", "0", "km0"));
  EXPECT_THAT(tokenize("٣٤ ९ ２ 𝟗"), ElementsAre("00", "0", "0", "0"));
  EXPECT_THAT(tokenize("x² ½ Ⅳ"), ElementsAre("x²", "½", "Ⅳ"));  // no decimal digits
}

TEST(Tokenizer, KeepsCapitalsUnlessAsked) {
  EXPECT_THAT(tokenize("À Paris, ÉTÉ"), ElementsAre("À", "Paris", ",", "ÉTÉ"));
  EXPECT_THAT(tokenize("À Paris, ÉTÉ ŒUVRE Ωμέγα Москва", {.lower = true}),
              ElementsAre("à", "paris", ",", "été", "œuvre", "ωμέγα", "москва"));
}

TEST(Tokenizer, IsUsedAgainAndAgain) {
  Tokenizer tokenizer;
  EXPECT_THAT(tokenizer.split("a long sentence, the first"), testing::SizeIs(6));
  EXPECT_THAT(tokenizer.split("b"), ElementsAre("b"));
  EXPECT_THAT(tokenizer.split(""), IsEmpty());
}

TEST(Tokenizer, WordsOfItsOwnStayAsTheyAre) {
  const auto words = tokenize("L'«œuvre» de 1900 (dit-il) : \"c'est fini!\"");
  std::string joined;
  for (const std::string& word : words) joined += word + " ";
  EXPECT_EQ(tokenize(joined), words);
}

TEST(Tokenizer, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(data_error_of([] { tokenize("caf\xe9"); }), "[sentence] byte 4: 0xe9 is not UTF-8");
}

std::string shown(const std::string& sentence) { return detokenize(tokenize(sentence)); }

TEST(Detokenize, SetsMarksAsAReaderWantsThem) {
  for (const char* text : {"Hello, world!", "He didn't (really) say: \"No, thanks\" to us.",
                           "\"A\" or \"b\"?", "0,000.0 or 00:00", "l'été d'hier; non", ""}) {
    EXPECT_EQ(shown(text), text);
  }
  EXPECT_EQ(shown("Va !"), "Va!");
  EXPECT_EQ(shown("a , b .Then"), "a, b. Then");
}

TEST(Digits, OfTheSourceReturnInTheirOrder) {
  EXPECT_EQ(with_digits_of("I have 23 cats and 45 dogs.", "J'ai 00 chats et 00 chiens."),
            "J'ai 23 chats et 45 chiens.");
  EXPECT_EQ(with_digits_of("In 1997, 12 of 3", "Les 0 de 00 en 0000"), "Les 3 de 12 en 1997");
  EXPECT_EQ(with_digits_of("3,141.59 km2", "0 000,00 km0"), "3 141,59 km2");
  EXPECT_EQ(with_digits_of("\u0663\u0664", "00"), "\u0663\u0664");
  EXPECT_EQ(with_digits_of("no number", "aucun"), "aucun");
}

// A digit that is not known is not said to be 0.
TEST(Digits, ThatTheSourceLacksAreUnknown) {
  EXPECT_EQ(with_digits_of("three cats", "00 chats"), "## chats");
  EXPECT_EQ(with_digits_of("5 cats", "0 chats et 0 chiens"), "5 chats et # chiens");
  EXPECT_EQ(with_digits_of("1,000", "0000"), "####") << "no run has four digits";
}

}  // namespace
}  // namespace skyline
