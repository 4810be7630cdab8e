#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data/byte_reader.h"

namespace skyline {

// Gives the lines of a file, which end with LF or CRLF; the last one's end may be missing. A byte
// order mark (U+FEFF in UTF-8) at the start of the file is left out.
class LineReader {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of a line

  explicit LineReader(ByteReader reader) : reader_(std::move(reader)) {}

  // The next line without its end, valid until the next call; none after the last. Throws DataError
  // when it is longer than kMostBytes, so that no file makes a line of all the memory there is, and
  // what ByteReader throws.
  std::optional<std::string_view> next();

  std::uint64_t line() const noexcept { return line_; }  // number of the last one given, from 1
  const std::string& source() const noexcept { return reader_.source(); }

 private:
  bool fill();  // false at the end of the file

  ByteReader reader_;
  std::string buffer_;       // bytes read
  std::size_t begin_ = 0;    // of what has not been given
  std::size_t scanned_ = 0;  // no LF between begin_ and here
  std::uint64_t line_ = 0;
};

}  // namespace skyline
