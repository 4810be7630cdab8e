// CSV, record by record: fields, and columns by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/errors.h"

namespace skyline {

// Names what a text is separated by if that is not a comma: "the columns are separated by ';'".
// Empty if the header may be CSV.
std::string wrong_separator(std::string_view header);

// Splits a stream of CSV (RFC 4180) into records. Accepts a byte order mark, LF, CRLF and a missing
// last line end; skips blank lines. Memory: one record. A record without quoted fields is scanned
// once and not copied.
class CsvReader {
 public:
  // A quote that is never closed would otherwise read the rest of the stream as one record.
  static constexpr std::size_t kLongestRecordBytes = std::size_t{1} << 20;
  static constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

  // `source` names the stream in errors; `head` is text already read from it. The stream must
  // outlive the reader. Longer records than `longest_record_bytes` are refused. Throws TraceError
  // for gzip'd text and for UTF-16.
  CsvReader(std::istream& in, std::string_view source, std::string head = {},
            std::size_t longest_record_bytes = kLongestRecordBytes);

  // Moves to the next record; returns false at the end of the stream. Throws TraceError if a quote
  // is not closed, text follows a closing quote, the record is too long or has more than 65,536
  // fields, or reading fails.
  bool next();

  // The line where the record begins, from 1; 0: none.
  std::size_t line() const { return record_line_; }
  std::span<const std::string_view> fields() const { return fields_; }  // valid until next()
  const std::string& source() const { return source_; }

  // Throws TraceError about the record; an empty field name means the whole record.
  [[noreturn]] void fail(std::string_view field, std::string problem) const;

 private:
  enum class Scan { kRecord, kQuoted, kCut };
  Scan scan_plain(bool at_end);
  void read_quoted();
  std::size_t quoted_length();
  void split_quoted(std::string_view record);
  std::string_view unquote(std::string_view& rest);
  bool refill();

  std::istream& in_;
  std::string source_;
  std::size_t longest_record_bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // the unread part of the buffer
  std::size_t line_ = 1;             // at begin_
  std::size_t record_line_ = 0;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // fields that had doubled quotes
};

// The text without blanks and tabs around it.
std::string_view trimmed_cell(std::string_view text);

// The value as a CSV field: quoted if it holds a comma, a quote or a line end, or begins or ends
// with a blank.
std::string csv_field(std::string_view value);

// The columns that a format's header line may name, in any order. A column's number is its position
// in `names`; unknown columns are ignored.
struct CsvFormat {
  struct Alias {
    std::string_view name;
    std::size_t column;
  };
  std::span<const std::string_view> names;
  std::size_t required;       // the first so many names must be there
  std::string_view expected;  // how an error describes the header: "expected …"
  std::span<const Alias> aliases = {};
};

// Reads records by column. `names` and `aliases` of the format must outlive it.
class CsvColumns {
 public:
  static constexpr std::uint64_t kMostNumber = std::numeric_limits<std::int64_t>::max();

  // Reads the header. Throws TraceError if a required column is missing or one is named twice.
  CsvColumns(CsvReader records, const CsvFormat& format);

  // Moves to the next record; returns false at the end. Throws TraceError if it has more or fewer
  // fields than the header.
  bool next();

  bool has(std::size_t column) const { return position_[column] != kAbsent; }
  // The column's name in the header, an alias perhaps; empty if the column is absent.
  std::string_view name(std::size_t column) const {
    return has(column) ? std::string_view(header_[position_[column]]) : std::string_view{};
  }
  // Valid until next(); empty if the column is absent.
  std::string_view field(std::size_t column) const {
    return has(column) ? records_.fields()[position_[column]] : std::string_view{};
  }
  // The field as a whole number in [least, most]; throws TraceError for anything else.
  std::uint64_t number(std::size_t column, std::uint64_t least = 0,
                       std::uint64_t most = kMostNumber) const;

  [[noreturn]] void fail(std::size_t column, std::string problem) const {
    records_.fail(name(column), std::move(problem));
  }
  // Throws TraceError about the whole record.
  [[noreturn]] void fail_record(std::string problem) const {
    records_.fail("", std::move(problem));
  }
  TraceErrorFacts place() const { return {.source = records_.source(), .line = records_.line()}; }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  void note(std::size_t column, std::size_t position);

  CsvReader records_;
  std::vector<std::string> header_;
  std::vector<std::size_t> position_;  // of each column in a record
};

}  // namespace skyline
