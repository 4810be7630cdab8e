#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data/byte_reader.h"

namespace skyline {

// Reads a file line by line. Lines end with LF or CRLF; the last line may lack its end. A byte
// order mark (U+FEFF in UTF-8) at the start of the file is skipped.
class LineReader {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // in a line

  explicit LineReader(ByteReader reader) : reader_(std::move(reader)) {}

  // Returns the next line without its end, valid until the next call; none after the last line.
  // Throws DataError when the line is longer than kMostBytes, so that a hostile file cannot use up
  // all memory, and whatever ByteReader throws.
  std::optional<std::string_view> next();

  std::uint64_t line() const noexcept { return line_; }  // number of the last line read, from 1
  const std::string& source() const noexcept { return reader_.source(); }

 private:
  bool fill();  // false at the end of the file

  ByteReader reader_;
  std::string buffer_;
  std::size_t begin_ = 0;    // start of the next line in buffer_
  std::size_t scanned_ = 0;  // there is no LF between begin_ and here
  std::uint64_t line_ = 0;
};

}  // namespace skyline
