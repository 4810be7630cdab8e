#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/errors.h"
#include "memory/formats/csv/csv.h"

namespace skyline {

// Splits a stream of CSV (RFC 4180) of any length into records, in constant memory: what CsvRecords
// does for a text in memory. Accepts a byte order mark, LF, CRLF and a missing last line end; skips
// blank lines. A record without quoted fields costs one look at each of its bytes.
class CsvStream {
 public:
  // A longer record is refused: a quote that is not closed would swallow the rest of the stream.
  static constexpr std::size_t kLongestRecordBytes = std::size_t{1} << 20;

  // `source` names the stream in errors; `head` was read off the stream before. The stream outlives
  // the object.
  CsvStream(std::istream& in, std::string_view source, std::string head = {});

  // Moves on to the next record; false at the end of the stream. Throws TraceError for a quote that
  // is not closed, text after a closing quote, a record that is too long, or a stream that fails.
  bool next();

  // 1-based, where the record begins; 0 behind the last one.
  std::size_t line() const { return record_line_; }
  std::span<const std::string_view> fields() const { return fields_; }  // valid until next()
  const std::string& source() const { return source_; }

  // Throws TraceError about the record; an empty field name is about all of it.
  [[noreturn]] void fail(std::string_view field, std::string problem) const;

 private:
  enum class Scan { kRecord, kQuoted, kCut };
  Scan scan_plain(bool at_end);
  void read_quoted();
  std::size_t quoted_length();
  bool refill();

  std::istream& in_;
  std::string source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what is not yet read in the buffer
  std::size_t line_ = 1;             // of begin_
  std::size_t record_line_ = 0;
  std::vector<std::string_view> fields_;
  std::optional<CsvRecords> quoted_;  // owns the fields of a record with quotes
};

}  // namespace skyline
