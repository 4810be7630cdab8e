#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// Splits CSV text (RFC 4180) into records, in one pass and without copies but for fields that hold
// doubled quotes. Accepts a byte order mark, LF, CRLF and a missing last line end; skips blank
// lines.
class CsvRecords {
 public:
  // The text and the source's name must outlive the object and the fields it hands out.
  CsvRecords(std::string_view text, std::string_view source);

  // Moves on to the next record; false at the end of the text. Throws TraceError for a quote that
  // is not closed, or text after a closing quote.
  bool next();

  std::size_t line() const { return record_line_; }  // 1-based, where the record begins
  const std::vector<std::string_view>& fields() const { return fields_; }  // valid until next()
  std::string_view source() const { return source_; }

 private:
  std::string_view plain_field();
  std::string_view quoted_field();
  std::size_t line_end(std::size_t from) const;

  std::string_view text_;
  std::string_view source_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 0;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // owns the fields that could not be views of the text
};

// The field as CSV: quoted when it holds a comma, a quote, a line end, or space at either end.
std::string csv_field(std::string_view value);

}  // namespace skyline
