#include "data/text/text_stream.h"

#include <utf8.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <iterator>
#include <utility>

#include "data/batch_order.h"
#include "data/text/characters.h"
#include "data/text/numbers.h"

namespace skyline {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr std::size_t kTailBytes = 3;  // most bytes of a character that a piece cuts off
constexpr char32_t kMarkOfByteOrder = 0xfeff;
constexpr std::size_t kCodePoints = 0x110000;
constexpr std::uint32_t kNoNumber = 0xffff'ffff;
constexpr std::uint32_t kSummands = 100;

std::string utf8_of(char32_t character) {
  std::string text;
  utf8::unchecked::append(character, std::back_inserter(text));
  return text;
}

// The place of a character in a text.
struct Place {
  std::size_t line = 1, characters = 0, bytes = 0;  // the latter two: in its line, before it

  void pass(char32_t character) {
    ++characters;
    bytes += utf8_of(character).size();
    if (character == U'\n') *this = {.line = line + 1};
  }
};

[[noreturn]] void refuse(const std::string& source, const Place& place, char32_t character,
                         std::size_t known) {
  std::array<char, 16> code{};
  std::snprintf(code.data(), code.size(), "U+%04X", static_cast<unsigned>(character));
  throw DataError(source, "line " + std::to_string(place.line) + ", character " +
                              std::to_string(place.characters + 1) + ": '" +
                              printable(utf8_of(character)) + "' (" + code.data() +
                              ") is none of the " + std::to_string(known) +
                              " characters of the training");
}

// Decodes UTF-8 that comes in pieces.
class Decoder {
 public:
  explicit Decoder(std::string source) : source_(std::move(source)) {}

  // Calls take(character, place) for all whole characters; at the end of the text, all must be.
  template <typename Take>
  void decode(std::string_view piece, bool is_end, const Take& take) {
    tail_ += piece;
    const auto bad = first_invalid_utf8(tail_);
    const std::size_t end = bad.value_or(tail_.size());
    for (const char* at = tail_.data(); at < tail_.data() + end;) {
      const char32_t character = utf8::unchecked::next(at);
      take(character, std::as_const(place_));
      place_.pass(character);
    }
    if (bad && (is_end || end + kTailBytes < tail_.size())) {
      throw DataError(source_,
                      "line " + std::to_string(place_.line) + ", " +
                          invalid_utf8_text(std::string_view(tail_).substr(end), 0, place_.bytes) +
                          "; a text in another encoding must be converted: iconv -t UTF-8");
    }
    tail_.erase(0, end);
  }

 private:
  std::string source_, tail_;
  Place place_;
};

// Asks for memory before a vector of numbers grows by `more`.
void make_room(std::vector<std::uint16_t>& words, std::size_t more, const std::string& source) {
  if (words.size() + more <= words.capacity()) return;
  const std::size_t room = std::max(2 * words.capacity(), words.size() + more);
  require_host_memory(source, "a text of " + std::to_string(words.size()) + " characters and more",
                      room * sizeof(std::uint16_t));
  words.reserve(room);
}

// Gives characters numbers: those of a set, or in the order in which they appear.
class Numbers {
 public:
  Numbers(std::string source, const CharacterSet* known)
      : source_(std::move(source)), known_(known), numbers_(kCodePoints, kNoNumber) {}

  std::uint16_t of(char32_t character, const Place& place) {
    std::uint32_t& number = numbers_[character];
    if (number != kNoNumber) return static_cast<std::uint16_t>(number);
    if (known_ != nullptr) {
      const auto found = known_->find(character);
      if (!found) refuse(source_, place, character, known_->size());
      number = *found;
    } else {
      if (seen_.size() == CharacterSet::kMost) {
        throw DataError(source_, "different characters", "more",
                        "at most " + std::to_string(CharacterSet::kMost));
      }
      number = static_cast<std::uint32_t>(seen_.size());
      seen_.push_back(character);
    }
    return static_cast<std::uint16_t>(number);
  }

  // Renumbers the words in the order of characters and returns these.
  CharacterSet sort(std::vector<std::uint16_t>& words) const {
    if (known_ != nullptr) return *known_;
    std::u32string sorted = seen_;
    std::ranges::sort(sorted);
    CharacterSet set(source_, std::move(sorted));
    for (std::uint16_t& word : words) word = *set.find(seen_[word]);
    return set;
  }

 private:
  std::string source_;
  const CharacterSet* known_;
  std::vector<std::uint32_t> numbers_;
  std::u32string seen_;
};

// Calls take(bytes, is_end) for all pieces of a file, of which at least one has bytes.
template <typename Take>
void for_each_piece(ByteReader& reader, const Take& take) {
  std::vector<std::uint8_t> piece(kReadBytes);
  for (bool is_first = true, is_end = false; !is_end; is_first = false) {
    const std::size_t size = reader.read(piece);
    if (is_first && size == 0) throw DataError(reader.source(), "is empty");
    is_end = size < piece.size();
    take(std::string_view(reinterpret_cast<const char*>(piece.data()), size), is_first, is_end);
  }
}

}  // namespace

CharacterSet::CharacterSet(const std::string& name, std::u32string characters)
    : characters_(std::move(characters)) {
  if (std::ranges::adjacent_find(characters_, std::ranges::greater_equal()) != characters_.end()) {
    throw DataError(name, "characters are not in the order of their code points, each once");
  }
  if (characters_.empty() || characters_.size() > kMost) {
    throw DataError(name, "number of characters", std::to_string(characters_.size()),
                    "1 to " + std::to_string(kMost));
  }
}

CharacterSet CharacterSet::open(const std::filesystem::path& path) {
  ByteReader reader = ByteReader::open(path);
  std::string text;
  for_each_piece(reader, [&](std::string_view piece, bool, bool) {
    text += piece;
    if (text.size() > 4 * kMost) throw DataError(reader.source(), "is no set of characters");
  });
  return parse(path.string(), text);
}

CharacterSet CharacterSet::parse(const std::string& name, std::string_view text) {
  std::u32string characters;
  Decoder(name).decode(text, true,
                       [&](char32_t character, const Place&) { characters += character; });
  return {name, std::move(characters)};
}

std::string CharacterSet::file_text() const {
  std::string text;
  for (const char32_t character : characters_) text += utf8_of(character);
  return text;
}

std::string CharacterSet::fingerprint() const {
  const std::string text = file_text();
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%08lx",
                crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  return std::to_string(size()) + " characters, crc32 " + digits.data();
}

std::optional<std::uint16_t> CharacterSet::find(char32_t character) const noexcept {
  const auto found = std::ranges::lower_bound(characters_, character);
  if (found == characters_.end() || *found != character) return {};
  return static_cast<std::uint16_t>(found - characters_.begin());
}

std::vector<std::uint16_t> CharacterSet::encode(const std::string& source,
                                                std::string_view text) const {
  std::vector<std::uint16_t> numbers;
  Decoder(source).decode(text, true, [&](char32_t character, const Place& place) {
    const auto number = find(character);
    if (!number) refuse(source, place, character, size());
    numbers.push_back(*number);
  });
  return numbers;
}

std::string CharacterSet::decode(std::span<const std::uint16_t> numbers) const {
  std::string text;
  for (const std::uint16_t number : numbers) text += utf8_of(characters_.at(number));
  return text;
}

TextStream read_characters(ByteReader reader, const CharacterSet* known) {
  TextStream stream{.name = reader.source(), .words = {}};
  Decoder decoder(stream.name);
  Numbers numbers(stream.name, known);
  bool is_start = true;
  for_each_piece(reader, [&](std::string_view piece, bool is_first, bool is_end) {
    if (const std::string_view wide = is_first ? wide_encoding(piece) : ""; !wide.empty()) {
      throw DataError(stream.name, "is " + std::string(wide) + ", expected UTF-8: iconv -f " +
                                       std::string(wide) + " -t UTF-8");
    }
    make_room(stream.words, piece.size() + kTailBytes, stream.name);
    decoder.decode(piece, is_end, [&](char32_t character, const Place& place) {
      if (std::exchange(is_start, false) && character == kMarkOfByteOrder) return;
      stream.words.push_back(numbers.of(character, place));
    });
  });
  if (stream.words.empty()) throw DataError(stream.name, "is empty");
  stream.characters = numbers.sort(stream.words);
  stream.vocabulary = stream.characters.size();
  return stream;
}

TextStream read_tokens(ByteReader reader, std::size_t vocabulary) {
  static_assert(std::endian::native == std::endian::little);
  TextStream stream{.name = reader.source(), .words = {}, .vocabulary = vocabulary};
  for_each_piece(reader, [&](std::string_view piece, bool, bool) {
    if (piece.size() % sizeof(std::uint16_t) != 0) {
      throw DataError(stream.name, "has an odd number of bytes, expected numbers of 16 bits");
    }
    const std::size_t before = stream.words.size(), more = piece.size() / sizeof(std::uint16_t);
    make_room(stream.words, more, stream.name);
    stream.words.resize(before + more);
    std::ranges::copy(piece, reinterpret_cast<char*>(stream.words.data() + before));
    const auto read = std::span(stream.words).subspan(before);
    const auto bad =
        std::ranges::find_if(read, [&](std::uint16_t word) { return word >= vocabulary; });
    if (bad == read.end()) return;
    throw DataError(stream.name,
                    "word " + std::to_string(before + static_cast<std::size_t>(bad - read.begin())),
                    std::to_string(*bad), "0 to " + std::to_string(vocabulary - 1));
  });
  return stream;
}

TextStream sums_text(std::size_t size, const RandomBits& random) {
  std::string text;
  for (std::uint64_t line = 0; text.size() < size; ++line) {
    const auto words = random(static_cast<std::uint64_t>(DataStream::kSums), line);
    const auto a = static_cast<std::uint32_t>(random_below(kSummands, words[0], words[1]));
    const auto b = static_cast<std::uint32_t>(random_below(kSummands, words[2], words[3]));
    text +=
        english_number(a) + " plus " + english_number(b) + " is " + english_number(a + b) + "\n";
  }
  text.resize(size);
  return read_characters(ByteReader("sums", {text.begin(), text.end()}));
}

}  // namespace skyline
