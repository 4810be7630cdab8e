#include "data/text/text_stream.h"

#include <utf8.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "data/text/characters.h"
#include "data/text/numbers.h"

namespace skyline {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr std::string_view kMarkOfByteOrder = "\xef\xbb\xbf";
constexpr std::size_t kCodePoints = 0x110000;
constexpr std::uint32_t kNoNumber = 0xffff'ffff;
constexpr std::uint32_t kSummands = 100;

std::string utf8_of(char32_t character) {
  std::string text;
  utf8::unchecked::append(character, std::back_inserter(text));
  return text;
}

// Returns all bytes of a file. Throws DataError if there is none.
std::string contents_of(ByteReader& reader) {
  std::string bytes;
  for (std::size_t more = kReadBytes; more == kReadBytes;) {
    const std::size_t before = bytes.size(), needed = before + kReadBytes;
    if (needed > bytes.capacity()) {
      const std::uint64_t room =
          std::min<std::uint64_t>(2 * needed, needed + reader.most_remaining_bytes());
      require_host_memory(reader.source(), "a text of " + std::to_string(before) + " bytes or more",
                          room);
      bytes.reserve(room);
    }
    bytes.resize(needed);
    more = reader.read({reinterpret_cast<std::uint8_t*>(&bytes[before]), kReadBytes});
    bytes.resize(before + more);
  }
  if (bytes.empty()) throw DataError(reader.source(), "is empty");
  return bytes;
}

// The place of a byte in a text.
struct Place {
  Place(std::string_view text, std::size_t byte)
      : begin(text.substr(0, byte).rfind('\n') + 1),
        line("line " + std::to_string(1 + std::ranges::count(text.substr(0, begin), '\n')) + ", ") {
  }

  std::size_t begin;  // of its line
  std::string line;
};

// Calls take(character, its first byte) for all characters of a text.
template <typename Take>
void decode(const std::string& source, std::string_view text, const Take& take) {
  if (const auto bad = first_invalid_utf8(text)) {
    const Place place(text, *bad);
    throw DataError(source, place.line +
                                invalid_utf8_text(text.substr(place.begin), *bad - place.begin) +
                                "; a text in another encoding must be converted: iconv -t UTF-8");
  }
  for (const char* at = text.data(); at < text.data() + text.size();) {
    const auto byte = static_cast<std::size_t>(at - text.data());
    take(utf8::unchecked::next(at), byte);
  }
}

CharacterSet characters_of(const std::string& source, std::string_view text) {
  std::vector<bool> seen(kCodePoints);
  decode(source, text, [&](char32_t character, std::size_t) { seen[character] = true; });
  std::u32string characters;
  for (std::size_t code = 0; code < kCodePoints; ++code) {
    if (seen[code]) characters += static_cast<char32_t>(code);
  }
  return {source, std::move(characters)};
}

TextStream stream_of(std::string source, std::string_view text, const CharacterSet* known) {
  TextStream stream{.name = std::move(source), .words = {}};
  if (text.empty()) throw DataError(stream.name, "is empty");
  stream.characters = known != nullptr ? *known : characters_of(stream.name, text);
  stream.vocabulary = stream.characters.size();
  stream.words = stream.characters.encode(stream.name, text);
  return stream;
}

void add_window(WindowBatch& batch, std::span<const std::uint16_t> text, std::size_t start,
                std::size_t length) {
  const auto window = text.subspan(start, length + 1);
  batch.words.insert(batch.words.end(), window.begin(), window.end() - 1);
  batch.answers.insert(batch.answers.end(), window.begin() + 1, window.end());
  ++batch.windows;
}

std::size_t checked_batches(const std::string& name, std::size_t windows,
                            const WindowLoaderOptions& options) {
  if (windows == 0) {
    throw DataError(name, "has no window of " + std::to_string(options.length) +
                              " words and one that follows: give a longer text or less --length");
  }
  return batches_per_epoch(name,
                           {.samples = windows,
                            .batch_size = options.batch_size,
                            .drop_last = true,
                            .start = options.start,
                            .step_batches = options.step_batches},
                           "windows");
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
  const std::string text = contents_of(reader);
  if (text.size() > 4 * kMost) throw DataError(reader.source(), "is no set of characters");
  return parse(path.string(), text);
}

CharacterSet CharacterSet::parse(const std::string& name, std::string_view text) {
  std::u32string characters;
  skyline::decode(name, text, [&](char32_t character, std::size_t) { characters += character; });
  return {name, std::move(characters)};
}

std::string CharacterSet::file_text() const {
  std::string text;
  for (const char32_t character : characters_) text += utf8_of(character);
  return text;
}

std::string CharacterSet::fingerprint() const {
  return skyline::fingerprint(size(), "characters", file_text());
}

std::vector<std::uint16_t> CharacterSet::encode(const std::string& source,
                                                std::string_view text) const {
  require_host_memory(source, "a text of " + std::to_string(text.size()) + " bytes",
                      text.size() * sizeof(std::uint16_t));
  std::vector<std::uint32_t> number_of(kCodePoints, kNoNumber);
  for (std::uint32_t number = 0; number < size(); ++number) number_of[characters_[number]] = number;
  std::vector<std::uint16_t> numbers;
  numbers.reserve(text.size());
  skyline::decode(source, text, [&](char32_t character, std::size_t byte) {
    if (number_of[character] == kNoNumber) {
      const Place place(text, byte);
      const auto before = utf8::unchecked::distance(text.data() + place.begin, text.data() + byte);
      std::array<char, 16> code{};
      std::snprintf(code.data(), code.size(), "U+%04X", static_cast<unsigned>(character));
      throw DataError(source, place.line + "character " + std::to_string(before + 1) + ": '" +
                                  printable(utf8_of(character)) + "' (" + code.data() +
                                  ") is none of the " + std::to_string(size()) +
                                  " characters of the training");
    }
    numbers.push_back(static_cast<std::uint16_t>(number_of[character]));
  });
  return numbers;
}

std::string CharacterSet::decode(std::span<const std::uint16_t> numbers) const {
  std::string text;
  for (const std::uint16_t number : numbers) text += utf8_of(characters_.at(number));
  return text;
}

TextStream read_characters(ByteReader reader, const CharacterSet* known) {
  const std::string bytes = contents_of(reader);
  std::string_view text = bytes;
  if (const std::string wide(wide_encoding(text.substr(0, kReadBytes))); !wide.empty()) {
    throw DataError(reader.source(),
                    "is " + wide + ", expected UTF-8: iconv -f " + wide + " -t UTF-8");
  }
  if (text.starts_with(kMarkOfByteOrder)) text.remove_prefix(kMarkOfByteOrder.size());
  return stream_of(reader.source(), text, known);
}

TextStream read_tokens(ByteReader reader, std::size_t vocabulary) {
  static_assert(std::endian::native == std::endian::little);
  TextStream stream{.name = reader.source(), .words = {}, .vocabulary = vocabulary};
  const std::string bytes = contents_of(reader);
  if (bytes.size() % sizeof(std::uint16_t) != 0) {
    throw DataError(stream.name, "has an odd number of bytes, expected numbers of 16 bits");
  }
  require_host_memory(stream.name, "a text of " + std::to_string(bytes.size()) + " bytes",
                      bytes.size());
  stream.words.resize(bytes.size() / sizeof(std::uint16_t));
  std::memcpy(stream.words.data(), bytes.data(), bytes.size());
  const auto bad =
      std::ranges::find_if(stream.words, [&](std::uint16_t word) { return word >= vocabulary; });
  if (bad == stream.words.end()) return stream;
  throw DataError(stream.name, "word " + std::to_string(bad - stream.words.begin()),
                  std::to_string(*bad), "0 to " + std::to_string(vocabulary - 1));
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
  return stream_of("sums", text, nullptr);
}

WindowLoader::WindowLoader(const std::string& name, std::span<const std::uint16_t> text,
                           WindowLoaderOptions options, RandomBits random)
    : text_(text),
      options_(options),
      random_(std::move(random)),
      batches_per_epoch_(checked_batches(name, windows_of(text, options.length), options)),
      position_(within_epoch(options.start, batches_per_epoch_)) {}

WindowBatch WindowLoader::next() {
  WindowBatch batch;
  batch.position = position_;
  const std::uint64_t number =
      position_.epoch * batches_per_epoch_ + position_.batch + options_.share.rank;
  for (std::size_t i = 0; i < options_.batch_size; ++i) {
    const auto words =
        random_(static_cast<std::uint64_t>(DataStream::kWindows), number * options_.batch_size + i);
    const std::size_t starts = text_.size() - options_.length;
    add_window(batch, text_, random_below(starts, words[0], words[1]), options_.length);
  }
  position_ = options_.share.after(position_, batches_per_epoch_);
  return batch;
}

std::size_t windows_of(std::span<const std::uint16_t> text, std::size_t length) {
  return text.empty() ? 0 : (text.size() - 1) / length;
}

WindowBatch windows_at(std::span<const std::uint16_t> text, std::size_t length, std::size_t first,
                       std::size_t count) {
  WindowBatch batch;
  for (std::size_t i = first; i < first + count; ++i) add_window(batch, text, i * length, length);
  return batch;
}

}  // namespace skyline
