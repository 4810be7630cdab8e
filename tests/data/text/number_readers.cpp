#include "tests/data/text/number_readers.h"

#include <map>
#include <string_view>

namespace skyline {
namespace {

using Words = std::map<std::string, std::uint32_t, std::less<>>;

// The rest of a text, consumed from its front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool eat(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Consumes the longest word of the table that comes next and is followed by a separator or the
  // end.
  std::optional<std::uint32_t> eat(const Words& words) {
    std::size_t best = 0;
    std::uint32_t value = 0;
    for (const auto& [word, number] : words) {
      if (word.size() <= best || !rest_.starts_with(word)) continue;
      const bool ends =
          rest_.size() == word.size() || rest_[word.size()] == ' ' || rest_[word.size()] == '-';
      if (ends) best = word.size(), value = number;
    }
    if (best == 0) return std::nullopt;
    rest_.remove_prefix(best);
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

const Words kEnglishSmall = {{"one", 1},        {"two", 2},       {"three", 3},    {"four", 4},
                             {"five", 5},       {"six", 6},       {"seven", 7},    {"eight", 8},
                             {"nine", 9},       {"ten", 10},      {"eleven", 11},  {"twelve", 12},
                             {"thirteen", 13},  {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16},
                             {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19}};
const Words kEnglishTens = {{"twenty", 20}, {"thirty", 30},  {"forty", 40},  {"fifty", 50},
                            {"sixty", 60},  {"seventy", 70}, {"eighty", 80}, {"ninety", 90}};

std::optional<std::uint32_t> english_two_digits(Reader& text) {
  const auto tens = text.eat(kEnglishTens);
  if (!tens) return text.eat(kEnglishSmall);
  if (!text.eat("-")) return tens;
  const auto unit = text.eat(kEnglishSmall);
  if (!unit || *unit > 9) return std::nullopt;
  return *tens + *unit;
}

std::optional<std::uint32_t> english_three_digits(Reader& text) {
  const auto first = english_two_digits(text);
  if (!first || !text.eat(" hundred")) return first;
  if (*first > 9) return std::nullopt;
  if (text.at_end() || text.rest() == " thousand" || text.rest().starts_with(" thousand ")) {
    return *first * 100;
  }
  if (!text.eat(" ")) return std::nullopt;
  const auto rest = english_two_digits(text);
  if (!rest) return std::nullopt;
  return *first * 100 + *rest;
}

const Words kFrenchSmall = {{"un", 1},        {"deux", 2},      {"trois", 3},    {"quatre", 4},
                            {"cinq", 5},      {"six", 6},       {"sept", 7},     {"huit", 8},
                            {"neuf", 9},      {"dix", 10},      {"onze", 11},    {"douze", 12},
                            {"treize", 13},   {"quatorze", 14}, {"quinze", 15},  {"seize", 16},
                            {"dix-sept", 17}, {"dix-huit", 18}, {"dix-neuf", 19}};
const Words kFrenchTens = {
    {"vingt", 20}, {"trente", 30}, {"quarante", 40}, {"cinquante", 50}, {"soixante", 60}};

bool mille_follows(const Reader& text) {
  return text.rest() == " mille" || text.rest().starts_with(" mille ");
}

std::optional<std::uint32_t> french_two_digits(Reader& text) {
  if (text.eat("quatre-vingts")) {
    return text.at_end() ? std::optional<std::uint32_t>(80) : std::nullopt;
  }
  if (text.eat("quatre-vingt")) {
    if (!text.eat("-"))
      return mille_follows(text) ? std::optional<std::uint32_t>(80) : std::nullopt;
    const auto rest = text.eat(kFrenchSmall);
    if (!rest) return std::nullopt;
    return 80 + *rest;
  }
  const auto tens = text.eat(kFrenchTens);
  if (!tens) return text.eat(kFrenchSmall);
  if (text.eat(" et un")) {
    if (*tens == 60 && text.eat("ze")) return std::nullopt;
    return *tens + 1;
  }
  if (*tens == 60 && text.eat(" et onze")) return 71;
  if (!text.eat("-")) return tens;
  const auto rest = text.eat(kFrenchSmall);
  if (!rest || *rest == 1 || *rest == 11 || (*tens != 60 && *rest > 9)) return std::nullopt;
  return *tens + *rest;
}

std::optional<std::uint32_t> french_three_digits(Reader& text) {
  std::uint32_t hundreds = 1;
  if (!text.eat("cent")) {
    const auto first = french_two_digits(text);
    if (!first || !text.eat(" cent")) return first;
    if (*first < 2 || *first > 9) return std::nullopt;
    hundreds = *first;
    if (text.eat("s")) return text.at_end() ? std::optional(hundreds * 100) : std::nullopt;
    if (text.at_end()) return std::nullopt;  // "cents" takes its s at the end
  }
  if (text.at_end() || mille_follows(text)) return hundreds * 100;
  if (!text.eat(" ")) return std::nullopt;
  const auto rest = french_two_digits(text);
  if (!rest) return std::nullopt;
  return hundreds * 100 + *rest;
}

// Parses [thousands " " word] [" " rest] up to the end of the text.
template <class ThreeDigits>
std::optional<std::uint32_t> with_thousands(Reader& text, std::string_view word,
                                            ThreeDigits three_digits) {
  const auto first = three_digits(text);
  if (!first || text.at_end()) return first;
  if (!text.eat(word)) return std::nullopt;
  if (text.at_end()) return *first * 1000;
  if (!text.eat(" ")) return std::nullopt;
  const auto rest = three_digits(text);
  if (!rest || !text.at_end()) return std::nullopt;
  return *first * 1000 + *rest;
}

}  // namespace

std::optional<std::uint32_t> read_english_number(const std::string& text) {
  if (text == "zero") return 0;
  if (text == "one million") return 1'000'000;
  Reader reader(text);
  return with_thousands(reader, " thousand", english_three_digits);
}

std::optional<std::uint32_t> read_french_number(const std::string& text) {
  if (text == "zéro") return 0;
  if (text == "un million") return 1'000'000;
  if (text == "un mille" || text.starts_with("un mille ")) return std::nullopt;
  if (text == "mille") return 1000;
  Reader reader(text);
  if (reader.eat("mille ")) {
    const auto rest = french_three_digits(reader);
    if (!rest || !reader.at_end()) return std::nullopt;
    return 1000 + *rest;
  }
  return with_thousands(reader, " mille", french_three_digits);
}

}  // namespace skyline
