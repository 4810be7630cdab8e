#include "data/text/numbers.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace skyline {
namespace {

constexpr std::array<std::string_view, 20> kEnglishUnits = {
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kEnglishTens = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::array<std::string_view, 20> kFrenchUnits = {
    "zéro",     "un",     "deux",  "trois",    "quatre",   "cinq",    "six",
    "sept",     "huit",   "neuf",  "dix",      "onze",     "douze",   "treize",
    "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf"};
// After sixty and eighty, French counts on to nineteen.
constexpr std::array<std::string_view, 10> kFrenchTens = {
    "",          "",         "vingt",    "trente",       "quarante",
    "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"};

void append(std::string& text, std::string_view words) {
  if (!text.empty()) text += ' ';
  text += words;
}

std::string english_below_hundred(std::uint32_t number) {
  if (number < 20) return std::string(kEnglishUnits[number]);
  std::string text(kEnglishTens[number / 10]);
  if (number % 10 != 0) text += "-" + std::string(kEnglishUnits[number % 10]);
  return text;
}

// 1 to 999.
std::string english_below_thousand(std::uint32_t number) {
  std::string text;
  if (number >= 100) text = std::string(kEnglishUnits[number / 100]) + " hundred";
  if (number % 100 != 0) append(text, english_below_hundred(number % 100));
  return text;
}

// `last`: no "mille" follows.
std::string french_below_hundred(std::uint32_t number, bool last) {
  if (number < 20) return std::string(kFrenchUnits[number]);
  const bool by_twenty = number >= 60;
  const std::uint32_t unit = by_twenty ? number % 20 : number % 10;
  std::string text(kFrenchTens[number / 10]);
  if (unit == 0) return number == 80 && last ? text + "s" : text;
  if (number < 80 && (unit == 1 || unit == 11))
    return text + " et " + std::string(kFrenchUnits[unit]);
  return text + "-" + std::string(kFrenchUnits[unit]);
}

// 1 to 999.
std::string french_below_thousand(std::uint32_t number, bool last) {
  const std::uint32_t hundreds = number / 100, rest = number % 100;
  std::string text;
  if (hundreds > 1) text = std::string(kFrenchUnits[hundreds]) + " ";
  if (hundreds > 0) text += hundreds > 1 && rest == 0 && last ? "cents" : "cent";
  if (rest != 0) append(text, french_below_hundred(rest, last));
  return text;
}

void check_number(std::uint32_t number) {
  if (number > kLargestNumber) {
    throw DataError("numbers", "number", std::to_string(number),
                    "0 to " + std::to_string(kLargestNumber));
  }
}

// How many of 256 draws have 1 to 6 digits; the remaining one is a million.
constexpr std::array<std::uint32_t, 6> kDrawsByDigits = {8, 16, 40, 56, 64, 71};

std::uint32_t draw(const std::array<std::uint32_t, 4>& words) {
  std::uint32_t pick = words[0] % 256, first = 0, end = 10;
  for (const std::uint32_t draws : kDrawsByDigits) {
    if (pick < draws) {
      // Takes the upper half of the product; its bias is below 10^6 / 2^32.
      return first + static_cast<std::uint32_t>((std::uint64_t{words[1]} * (end - first)) >> 32);
    }
    pick -= draws;
    first = end;
    end *= 10;
  }
  return kLargestNumber;
}

// The finalizer of 32-bit MurmurHash3 (Appleby): every result bit depends on every bit of x.
constexpr std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x85ebca6b;
  x = (x ^ x >> 13) * 0xc2b2ae35;
  return x ^ x >> 16;
}

// Two sentences of about eight words, as word numbers and once more as vocabulary ids.
constexpr std::uint64_t kBytesPerPair = 160;

constexpr std::uint32_t kTestShare = 10;  // one number in 10 is for testing

// Splits at spaces only.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::string english_number(std::uint32_t number) {
  check_number(number);
  if (number == kLargestNumber) return "one million";
  if (number == 0) return std::string(kEnglishUnits[0]);
  std::string text;
  if (number >= 1000) text = english_below_thousand(number / 1000) + " thousand";
  if (number % 1000 != 0) append(text, english_below_thousand(number % 1000));
  return text;
}

std::string french_number(std::uint32_t number) {
  check_number(number);
  if (number == kLargestNumber) return "un million";
  if (number == 0) return std::string(kFrenchUnits[0]);
  std::string text;
  if (number >= 2000) text = french_below_thousand(number / 1000, false);
  if (number >= 1000) append(text, "mille");
  if (number % 1000 != 0) append(text, french_below_thousand(number % 1000, true));
  return text;
}

Split split_of_number(std::uint32_t number) noexcept {
  if (number == 0 || number >= kLargestNumber) return Split::kTrain;
  return mixed(number) % kTestShare == 0 ? Split::kTest : Split::kTrain;
}

std::uint32_t drawn_number(std::size_t index, Split split, const RandomBits& random) {
  const DataStream stream =
      split == Split::kTrain ? DataStream::kNumbersTrain : DataStream::kNumbersTest;
  std::uint32_t number = draw(random(static_cast<std::uint64_t>(stream), index));
  while (split_of_number(number) != split) number = (number + 1) % (kLargestNumber + 1);
  return number;
}

ParallelText numbers_text(std::size_t size, Split split, const RandomBits& random) {
  if (size == 0) throw DataError("numbers", "number of pairs", "0", "at least 1");
  require_host_memory("numbers", std::to_string(size) + " pairs", size * kBytesPerPair);
  TextCollector source, target;
  ParallelText text{.summary = {.lines = size, .kept = size}};
  TextSummary& summary = text.summary;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t number = drawn_number(i, split, random);
    const std::string english = english_number(number), french = french_number(number);
    const auto english_words = words_of(english), french_words = words_of(french);
    summary.most_words = std::max({summary.most_words, english_words.size(), french_words.size()});
    source.add(english_words, true);
    target.add(french_words, true);
    if (split == Split::kTrain) continue;
    text.source_lines.push_back(english);
    text.target_lines.push_back(french);
  }
  text.source = source.take();
  text.target = target.take();
  return text;
}

}  // namespace skyline
