#include "data/text/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/data/data_error_of.h"
#include "tests/data/test_random.h"
#include "tests/data/text/number_readers.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

struct Spelled {
  std::uint32_t number;
  const char* english;
  const char* french;
};

constexpr Spelled kSpelled[] = {
    {0, "zero", "zéro"},
    {1, "one", "un"},
    {16, "sixteen", "seize"},
    {17, "seventeen", "dix-sept"},
    {20, "twenty", "vingt"},
    {21, "twenty-one", "vingt et un"},
    {22, "twenty-two", "vingt-deux"},
    {31, "thirty-one", "trente et un"},
    {40, "forty", "quarante"},
    {61, "sixty-one", "soixante et un"},
    {70, "seventy", "soixante-dix"},
    {71, "seventy-one", "soixante et onze"},
    {72, "seventy-two", "soixante-douze"},
    {77, "seventy-seven", "soixante-dix-sept"},
    {80, "eighty", "quatre-vingts"},
    {81, "eighty-one", "quatre-vingt-un"},
    {90, "ninety", "quatre-vingt-dix"},
    {91, "ninety-one", "quatre-vingt-onze"},
    {99, "ninety-nine", "quatre-vingt-dix-neuf"},
    {100, "one hundred", "cent"},
    {101, "one hundred one", "cent un"},
    {171, "one hundred seventy-one", "cent soixante et onze"},
    {180, "one hundred eighty", "cent quatre-vingts"},
    {200, "two hundred", "deux cents"},
    {201, "two hundred one", "deux cent un"},
    {280, "two hundred eighty", "deux cent quatre-vingts"},
    {300, "three hundred", "trois cents"},
    {420, "four hundred twenty", "quatre cent vingt"},
    {1000, "one thousand", "mille"},
    {1001, "one thousand one", "mille un"},
    {1100, "one thousand one hundred", "mille cent"},
    {1200, "one thousand two hundred", "mille deux cents"},
    {1999, "one thousand nine hundred ninety-nine", "mille neuf cent quatre-vingt-dix-neuf"},
    {2000, "two thousand", "deux mille"},
    {4020, "four thousand twenty", "quatre mille vingt"},
    {21000, "twenty-one thousand", "vingt et un mille"},
    {71021, "seventy-one thousand twenty-one", "soixante et onze mille vingt et un"},
    {80000, "eighty thousand", "quatre-vingt mille"},
    {80080, "eighty thousand eighty", "quatre-vingt mille quatre-vingts"},
    {99999, "ninety-nine thousand nine hundred ninety-nine",
     "quatre-vingt-dix-neuf mille neuf cent quatre-vingt-dix-neuf"},
    {100000, "one hundred thousand", "cent mille"},
    {101000, "one hundred one thousand", "cent un mille"},
    {180000, "one hundred eighty thousand", "cent quatre-vingt mille"},
    {200000, "two hundred thousand", "deux cent mille"},
    {200200, "two hundred thousand two hundred", "deux cent mille deux cents"},
    {281000, "two hundred eighty-one thousand", "deux cent quatre-vingt-un mille"},
    {999999, "nine hundred ninety-nine thousand nine hundred ninety-nine",
     "neuf cent quatre-vingt-dix-neuf mille neuf cent quatre-vingt-dix-neuf"},
    {1000000, "one million", "un million"},
};

TEST(Numbers, AreSpelledAsTheLanguagesDo) {
  for (const Spelled& spelled : kSpelled) {
    EXPECT_EQ(english_number(spelled.number), spelled.english);
    EXPECT_EQ(french_number(spelled.number), spelled.french);
  }
}

// The readers accept only correct spelling, so reading back proves the spelling.
TEST(NumberReaders, RefuseWrongSpelling) {
  for (const char* wrong : {"",
                            "vingt-un",
                            "vingt-et-un",
                            "vingts",
                            "soixante-onze",
                            "septante",
                            "quatre-vingt",
                            "quatre-vingts-un",
                            "quatre-vingt et un",
                            "quatre-vingt et onze",
                            "un cent",
                            "deux cent",
                            "cents",
                            "deux cents un",
                            "deux cents mille",
                            "quatre-vingts mille",
                            "un mille",
                            "mille mille",
                            "deux milles",
                            "mille ",
                            " mille",
                            "dix cent",
                            "cent cent",
                            "trente-dix",
                            "vingt et onze",
                            "cent et un",
                            "deux mille deux cent",
                            "zéro mille",
                            "deux-cents",
                            "million"}) {
    EXPECT_EQ(read_french_number(wrong), std::nullopt) << wrong;
  }
  for (const char* wrong : {"", "twenty one", "fourty", "twenty-ten", "one hundred and one",
                            "hundred", "eleven hundred", "one thousand thousand", "twenty-",
                            "one hundred  one", "zero thousand", "thousand", "one hundredone"}) {
    EXPECT_EQ(read_english_number(wrong), std::nullopt) << wrong;
  }
}

TEST(Numbers, AreReadBack) {
  // An odd stride varies every digit.
  const auto stride = static_cast<std::uint32_t>(kLargestNumber / effort(140'000)) | 1;
  for (std::uint32_t number = 0; number <= kLargestNumber; number += stride) {
    ASSERT_EQ(read_english_number(english_number(number)), number);
    ASSERT_EQ(read_french_number(french_number(number)), number);
  }
  EXPECT_EQ(read_french_number(french_number(kLargestNumber)), kLargestNumber);
}

TEST(Numbers, EndAtAMillion) {
  const std::string refusal = "[numbers] number, got 1000001, expected 0 to 1000000";
  EXPECT_EQ(data_error_of([] { english_number(1'000'001); }), refusal);
  EXPECT_EQ(data_error_of([] { french_number(1'000'001); }), refusal);
  EXPECT_EQ(data_error_of([] { numbers_text(0, Split::kTrain, test_random(1)); }),
            "[numbers] number of pairs, got 0, expected at least 1");
}

TEST(Numbers, AboutOneInTenIsForTests) {
  int tests = 0;
  for (std::uint32_t number = 0; number <= kLargestNumber; ++number) {
    tests += split_of_number(number) == Split::kTest;
  }
  EXPECT_NEAR(tests, 100'000, 2'000);
  EXPECT_EQ(split_of_number(0), Split::kTrain);
  EXPECT_EQ(split_of_number(kLargestNumber), Split::kTrain);
}

TEST(Numbers, OfTheSplitsAreDisjointAndTheSameAlways) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    for (std::size_t index = 0; index < effort(20'000); ++index) {
      const std::uint32_t number = drawn_number(index, split, test_random(1));
      ASSERT_EQ(split_of_number(number), split);
      ASSERT_EQ(number, drawn_number(index, split, test_random(1)));
    }
  }
  int equal = 0;
  for (std::size_t index = 0; index < 100; ++index) {
    equal += drawn_number(index, Split::kTrain, test_random(1)) ==
             drawn_number(index, Split::kTrain, test_random(2));
  }
  EXPECT_LT(equal, 20);
}

TEST(Numbers, OfEveryLengthAreDrawn) {
  constexpr std::size_t kDraws = 25'600;
  std::map<std::size_t, double> train, test;  // counts by number of digits
  for (std::size_t index = 0; index < kDraws; ++index) {
    ++train[std::to_string(drawn_number(index, Split::kTrain, test_random(1))).size()];
    ++test[std::to_string(drawn_number(index, Split::kTest, test_random(1))).size()];
  }
  const std::map<std::size_t, double> expected = {{1, 800},  {2, 1600}, {3, 4000}, {4, 5600},
                                                  {5, 6400}, {6, 7100}, {7, 100}};
  // Allows five standard deviations and a little for the numbers that the split moves on.
  for (const auto& [digits, count] : expected) {
    EXPECT_NEAR(train[digits], count, 5 * std::sqrt(count) + 120) << digits;
  }
  for (std::size_t digits = 2; digits <= 6; ++digits) EXPECT_GT(test[digits], 500) << digits;
}

TEST(Numbers, MakeAParallelText) {
  const ParallelText text = numbers_text(5000, Split::kTrain, test_random(1));
  ASSERT_EQ(text.size(), 5000u);
  ASSERT_EQ(text.target.sentences.size(), 5000u);
  EXPECT_EQ(text.summary.text(), "5000 pairs: 5000 kept");
  EXPECT_EQ(text.summary.most_words, 11u);
  const auto joined = [](const TokenizedText& side, std::size_t index) {
    std::string sentence;
    for (const std::string& word : side.sentence(index)) {
      sentence += (sentence.empty() ? "" : " ") + word;
    }
    return sentence;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto english = read_english_number(joined(text.source, i));
    ASSERT_EQ(english, drawn_number(i, Split::kTrain, test_random(1)));
    ASSERT_EQ(english, read_french_number(joined(text.target, i)));
  }
  const ParallelText longer = numbers_text(5001, Split::kTrain, test_random(1));
  EXPECT_EQ(joined(longer.source, 4999), joined(text.source, 4999));
}

// A model has seen every word of the test in training, though none of its numbers.
TEST(Numbers, TestsHaveNoWordThatTrainingHasNot) {
  const ParallelText train = numbers_text(5000, Split::kTrain, test_random(1));
  const ParallelText test = numbers_text(1000, Split::kTest, test_random(1));
  const auto unknown = [](const TokenizedText& known, const TokenizedText& asked) {
    const std::set<std::string> words(known.words.begin(), known.words.end());
    return std::ranges::count_if(asked.words,
                                 [&](const std::string& word) { return !words.contains(word); });
  };
  EXPECT_EQ(unknown(train.source, test.source), 0);
  EXPECT_EQ(unknown(train.target, test.target), 0);
}

}  // namespace
}  // namespace skyline
