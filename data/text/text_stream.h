#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch_order.h"
#include "data/byte_reader.h"
#include "data/host.h"

// A text as one sequence of numbers, for models that tell the next one, and batches of windows:
// pieces of one length of it.

namespace skyline {

// The characters that a model knows, numbered in the order of their code points.
class CharacterSet {
 public:
  static constexpr std::size_t kMost = 65'536;  // a text stores each number in 16 bits

  CharacterSet() = default;
  // Throws DataError, naming `name`, unless the code points ascend and are at most kMost.
  CharacterSet(const std::string& name, std::u32string characters);
  // Both read the output of file_text(). Throw DataError.
  static CharacterSet open(const std::filesystem::path& path);
  static CharacterSet parse(const std::string& name, std::string_view text);

  // All characters one after the other, UTF-8.
  std::string file_text() const;
  // "65 characters, crc32 89abcdef": checkpoints store it to recognise the set.
  std::string fingerprint() const;

  std::size_t size() const noexcept { return characters_.size(); }
  // Throws DataError that names `source`, the character and its place: "[a.txt] line 3, character
  // 5: 'é' (U+00E9) is none of the 65 characters of the training"; also for text that is not UTF-8.
  std::vector<std::uint16_t> encode(const std::string& source, std::string_view text) const;
  // UTF-8. Requires numbers below size().
  std::string decode(std::span<const std::uint16_t> numbers) const;

  bool operator==(const CharacterSet&) const = default;

 private:
  std::u32string characters_;
};

// The first nine tenths of a text, rounded down, are for training, the rest for validation; or all.
struct TextStream {
  std::string name;
  std::vector<std::uint16_t> words;  // numbers of characters, or of a tokenizer's words
  CharacterSet characters = {};      // empty: a tokenizer's words
  std::size_t vocabulary = 0;        // numbers are below this
  bool only_validates = false;       // all of it

  std::span<const std::uint16_t> training() const {
    const std::size_t size = words.size() / 10 * 9 + words.size() % 10 * 9 / 10;
    return std::span(words).first(only_validates ? 0 : size);
  }
  std::span<const std::uint16_t> validation() const {
    return std::span(words).subspan(training().size());
  }
};

// Reads a UTF-8 text, plain or gzip'd, of any size that the host's memory holds; a byte order mark
// at its start is skipped, line ends stay as they are. Numbers are those of `known`, or of the
// characters that the text has. Throws DataError for an empty text, UTF-16 or UTF-32, a byte that
// is not UTF-8 (with line and byte), a character that `known` lacks, as encode() does, and more
// than CharacterSet::kMost different ones.
TextStream read_characters(ByteReader reader, const CharacterSet* known = nullptr);

// Reads little-endian numbers of 16 bits, as nanoGPT's prepare.py writes GPT-2's words. Throws
// DataError for an empty file, an odd number of bytes and, with its place, a number of at least
// `vocabulary`.
TextStream read_tokens(ByteReader reader, std::size_t vocabulary);

// Makes a text that needs no download: lines such as "seven plus thirty-five is forty-two" with
// summands below a hundred. It depends only on the size, in characters, and random's seed.
TextStream sums_text(std::size_t size, const RandomBits& random);

// B windows of T words, one after the other, and the word that follows each of them.
struct WindowBatch {
  std::vector<std::int32_t> words, answers;  // B T
  std::size_t windows = 0;                   // B
  BatchPosition position = {};
};

struct WindowLoaderOptions {
  std::size_t batch_size = 12;   // windows
  std::size_t length = 64;       // T
  BatchPosition start = {};      // the first batch to return
  std::size_t step_batches = 1;  // leave out the batches that do not fill a step of so many
  BatchShare share = {};         // the batches to return, if others read the rest
};

// Returns batches of windows at random places, without end. As many windows as lie side by side in
// the text are an epoch. The places of a batch depend only on random's seed and the batch's
// position, so a resumed run goes on as if it had never stopped, and no thread reads ahead: a batch
// is copied in microseconds. The text must outlive the loader.
class WindowLoader {
 public:
  // `name` is for errors. Throws DataError when the text has no whole window, the batch size is 0
  // or above the windows of an epoch, no step has its batches, or the start is past the end of its
  // epoch.
  WindowLoader(const std::string& name, std::span<const std::uint16_t> text,
               WindowLoaderOptions options, RandomBits random);

  std::size_t batches_per_epoch() const noexcept { return batches_per_epoch_; }
  WindowBatch next();

 private:
  std::span<const std::uint16_t> text_;
  WindowLoaderOptions options_;
  RandomBits random_;
  std::size_t batches_per_epoch_;
  BatchPosition position_;
};

// Returns how many windows of `length` words, each with a word that follows, lie side by side.
std::size_t windows_of(std::span<const std::uint16_t> text, std::size_t length);
// Returns windows first … first + count - 1 of these.
WindowBatch windows_at(std::span<const std::uint16_t> text, std::size_t length, std::size_t first,
                       std::size_t count);

}  // namespace skyline
