#include "data/text/tokenizer.h"

#include <utf8.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "data/host.h"
#include "data/text/characters.h"

namespace skyline {
namespace {

constexpr std::string_view kMarks = ".,!?\"':;)(";
constexpr char32_t kRightQuote = 0x2019;

// ASCII is most of a text, so its normalization is looked up.
struct AsciiTables {
  std::array<char, 128> plain{};
  std::array<char, 128> lower{};
  std::array<bool, 128> mark{};  // a word of its own
};

const AsciiTables& ascii_tables() {
  static const AsciiTables tables = [] {
    AsciiTables made;
    for (std::size_t i = 0; i < made.plain.size(); ++i) {
      const auto c = static_cast<char32_t>(i);
      made.plain[i] = static_cast<char>(is_white_space(c) ? ' ' : is_decimal_digit(c) ? '0' : c);
      made.lower[i] = static_cast<char>(lower_case(static_cast<char32_t>(made.plain[i])));
      made.mark[i] = kMarks.find(static_cast<char>(i)) != std::string_view::npos;
    }
    return made;
  }();
  return tables;
}

char32_t normalized(char32_t c, bool lower) {
  if (c == kRightQuote) return '\'';
  if (is_white_space(c)) return ' ';
  if (is_decimal_digit(c)) return '0';
  return lower ? lower_case(c) : c;
}

bool is_mark(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x80 && ascii_tables().mark[byte];
}

// The sides on which a word stands apart from its neighbours.
struct Setting {
  bool space_before = true, space_after = true;
};

bool is_one_of(const std::string& word, std::string_view marks) {
  return word.size() == 1 && marks.find(word[0]) != std::string_view::npos;
}

Setting setting_of(const std::string& word, bool& quoting) {
  if (is_one_of(word, ".,)!?:;")) return {false, true};
  if (is_one_of(word, "(")) return {true, false};
  if (is_one_of(word, "'")) return {false, false};
  if (is_one_of(word, "\"")) {
    quoting = !quoting;
    return {quoting, !quoting};
  }
  return {};
}

// "0 , 0" and "0 : 0" are each one number.
bool is_inside_number(std::span<const std::string> words, std::size_t index) {
  return is_one_of(words[index], ".,:") && index > 0 && index + 1 < words.size() &&
         words[index - 1].ends_with('0') && words[index + 1].starts_with('0');
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

// Marks of ASCII other than ' , - and .
bool is_split_off(char c) {
  const auto in = [c](char first, char last) { return first <= c && c <= last; };
  return in('{', '~') || in('[', '`') || in(' ', '&') || in('(', '+') || in(':', '@') || c == '/';
}

// Rewrites each pair of neighbours that matches, from left to right, none overlapping.
template <typename Matches, typename Rewrite>
std::string with_pairs(const std::string& text, const Matches& matches, const Rewrite& rewrite) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      result += rewrite(text[i], text[i + 1]);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

void Tokenizer::normalize(std::string_view sentence) {
  const AsciiTables& tables = ascii_tables();
  const std::array<char, 128>& ascii = options_.lower ? tables.lower : tables.plain;
  text_.clear();
  text_.reserve(sentence.size());  // no replacement is longer than the original
  const char* at = sentence.data();
  const char* const end = at + sentence.size();
  while (at != end) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x80) {
      text_ += ascii[byte];
      ++at;
    } else {
      const char32_t c = normalized(utf8::unchecked::next(at), options_.lower);
      utf8::unchecked::append(c, std::back_inserter(text_));
    }
  }
}

std::span<const std::string_view> Tokenizer::split(std::string_view sentence) {
  if (const auto byte = first_invalid_utf8(sentence)) {
    throw DataError("sentence", invalid_utf8_text(sentence, *byte));
  }
  normalize(sentence);
  words_.clear();
  const std::string_view text = text_;
  std::size_t begin = 0;
  const auto end_word = [&](std::size_t end) {
    if (end > begin) words_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') {
      end_word(i);
    } else if (is_mark(text[i])) {
      end_word(i);
      words_.push_back(text.substr(i, 1));
    }
  }
  end_word(text.size());
  return words_;
}

std::vector<std::string> tokenize(std::string_view sentence, TokenizerOptions options) {
  Tokenizer tokenizer(options);
  const auto words = tokenizer.split(sentence);
  return {words.begin(), words.end()};
}

// Follows sacrebleu 2 step by step: sacrebleu/tokenizers/tokenizer_13a.py and tokenizer_re.py.
std::vector<std::string> tokenize_13a(std::string_view line) {
  std::string text = " " + std::string(line) + " ";
  replace_all(text, "<skipped>", "");
  for (const auto& [entity, mark] :
       {std::pair("&quot;", "\""), {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}}) {
    replace_all(text, entity, mark);
  }
  std::string split;
  for (const char c : text) {
    is_split_off(c) ? split.append({' ', c, ' '}) : split.append(1, c);
  }
  split = with_pairs(
      split, [](char a, char b) { return !is_ascii_digit(a) && is_point(b); },
      [](char a, char b) {
        return std::string{a, ' ', b, ' '};
      });
  split = with_pairs(
      split, [](char a, char b) { return is_point(a) && !is_ascii_digit(b); },
      [](char a, char b) {
        return std::string{' ', a, ' ', b};
      });
  split = with_pairs(
      split, [](char a, char b) { return is_ascii_digit(a) && b == '-'; },
      [](char a, char b) {
        return std::string{a, ' ', b, ' '};
      });
  std::vector<std::string> words;
  bool inside = false;
  for (const char* at = split.data(); at != split.data() + split.size();) {
    const char* const begin = at;
    const bool space = is_white_space(utf8::unchecked::next(at));
    if (!space && !inside) words.emplace_back();
    if (!space) words.back().append(begin, at);
    inside = !space;
  }
  return words;
}

std::string detokenize(std::span<const std::string> words) {
  std::string text;
  bool quoting = false, space = false;  // space: one belongs after the previous word
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Setting setting = setting_of(words[i], quoting);
    if (space && setting.space_before) text += ' ';
    text += words[i];
    space = setting.space_after && !is_inside_number(words, i);
  }
  return text;
}

std::string with_digits_of(std::string_view source, std::string_view translation) {
  struct Run {
    std::string digits;
    std::size_t count = 0;
  };
  std::vector<Run> runs;
  bool inside = false;
  for (const char* at = source.data(); at != source.data() + source.size();) {
    const char* const begin = at;
    const bool digit = is_decimal_digit(utf8::unchecked::next(at));
    if (digit && !inside) runs.emplace_back();
    if (digit) {
      runs.back().digits.append(begin, at);
      ++runs.back().count;
    }
    inside = digit;
  }
  std::string text;
  for (std::size_t i = 0; i < translation.size();) {
    const std::size_t end = std::min(translation.find_first_not_of('0', i), translation.size());
    if (end == i) {
      text += translation[i++];
      continue;
    }
    const auto found = std::ranges::find(runs, end - i, &Run::count);
    text += found == runs.end() ? std::string(end - i, '#') : found->digits;
    if (found != runs.end()) runs.erase(found);
    i = end;
  }
  return text;
}

}  // namespace skyline
