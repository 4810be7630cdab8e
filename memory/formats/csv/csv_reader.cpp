#include "memory/formats/csv/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <istream>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kFirstPieceBytes = std::size_t{1} << 12;
constexpr std::size_t kMostPieceBytes = std::size_t{1} << 18;
constexpr std::size_t kMostFields = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns the number of a column, or the number of columns if the name is unknown.
std::size_t column_named(const CsvFormat& format, std::string_view name) {
  const auto alias = std::ranges::find(format.aliases, name, &CsvFormat::Alias::name);
  if (alias != format.aliases.end()) return alias->column;
  return static_cast<std::size_t>(std::ranges::find(format.names, name) - format.names.begin());
}

// Names an encoding that is not UTF-8 by its first bytes; empty if there is none to see.
std::string_view wrong_encoding(std::string_view text) {
  if (text.starts_with("\x1f\x8b")) return "is gzip; decompress it with gunzip";
  const bool marked = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  const bool unmarked = text.size() > 1 && (text[0] == 0) != (text[1] == 0);
  return marked || unmarked ? "is UTF-16; convert it to UTF-8" : "";
}

}  // namespace

std::string wrong_separator(std::string_view header) {
  if (header.find(',') != std::string_view::npos) return {};
  if (header.find(';') != std::string_view::npos) return "the columns are separated by ';'";
  return header.find('\t') != std::string_view::npos ? "the columns are separated by tabs" : "";
}

CsvReader::CsvReader(std::istream& in, std::string_view source, std::string head,
                     std::size_t longest_record_bytes)
    : in_(in),
      source_(source),
      longest_record_bytes_(longest_record_bytes),
      buffer_(head.begin(), head.end()),
      end_(head.size()) {
  while (end_ < kByteOrderMark.size() && refill()) {
  }
  const std::string_view text(buffer_.data(), end_);
  if (const auto wrong = wrong_encoding(text); !wrong.empty()) fail("", std::string(wrong));
  if (text.starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
}

void CsvReader::fail(std::string_view field, std::string problem) const {
  throw TraceError({.source = source_,
                    .line = record_line_,
                    .field = std::string(field),
                    .problem = std::move(problem)});
}

bool CsvReader::next() {
  while (true) {
    record_line_ = line_;
    Scan scan = scan_plain(false);
    while (scan == Scan::kCut) scan = refill() ? scan_plain(false) : scan_plain(true);
    if (scan == Scan::kQuoted) {
      read_quoted();
      return true;
    }
    const bool blank = fields_.size() == 1 && fields_[0].empty();
    if (!blank) return true;
    if (begin_ == end_ && !refill()) {
      record_line_ = 0;
      return false;
    }
  }
}

// Splits the record at begin_ at its commas and moves past it. Returns kCut, without moving, if the
// buffer ends before the record does; at the end of the stream that is a record, too.
CsvReader::Scan CsvReader::scan_plain(bool at_end) {
  fields_.clear();
  const char* const start = buffer_.data() + begin_;
  const char* const stop = buffer_.data() + end_;
  const char* field = start;
  const char* at = start;
  // Fields are short: this loop takes a third of the time that find_first_of() takes.
  for (; at != stop && *at != '\n'; ++at) {
    if (*at == ',') {
      if (fields_.size() == kMostFields) fail("", fmt::format("more than {} fields", kMostFields));
      fields_.emplace_back(field, static_cast<std::size_t>(at - field));
      field = at + 1;
    } else if (*at == '"' && at == field) {
      return Scan::kQuoted;
    }
  }
  if (at == stop && !at_end) return Scan::kCut;
  const bool carriage_return = at != field && at[-1] == '\r';
  fields_.emplace_back(field, static_cast<std::size_t>(at - field - (carriage_return ? 1 : 0)));
  begin_ += static_cast<std::size_t>(at - start);
  if (at != stop) {
    ++begin_;
    ++line_;
  }
  return Scan::kRecord;
}

void CsvReader::read_quoted() {
  const std::size_t length = quoted_length();
  const std::string_view record(buffer_.data() + begin_, length);
  split_quoted(record.ends_with('\r') ? record.substr(0, length - 1) : record);
  line_ += static_cast<std::size_t>(std::count(record.begin(), record.end(), '\n'));
  begin_ += length;
  if (begin_ != end_) {
    ++begin_;
    ++line_;
  }
}

// Returns the bytes of the record at begin_ without its line end. A field that begins with a quote
// may hold commas and line ends between its quotes; in other fields a quote is an ordinary letter.
std::size_t CsvReader::quoted_length() {
  bool quoted_field = false, open = false, field_begins = true;
  for (std::size_t length = 0;; ++length) {
    if (begin_ + length == end_ && !refill()) return length;
    const char c = buffer_[begin_ + length];
    if (field_begins) quoted_field = c == '"';
    field_begins = false;
    if (c == '"' && quoted_field) open = !open;
    if (open) continue;
    if (c == '\n') return length;
    field_begins = c == ',';
  }
}

void CsvReader::split_quoted(std::string_view record) {
  fields_.clear();
  unquoted_.clear();
  while (true) {
    if (record.starts_with('"')) {
      fields_.push_back(unquote(record));
    } else {
      const std::size_t length = std::min(record.find(','), record.size());
      fields_.push_back(record.substr(0, length));
      record.remove_prefix(length);
    }
    if (record.empty()) return;
    if (record[0] != ',') fail("", "text follows the closing quote of a field");
    record.remove_prefix(1);
  }
}

// Takes a quoted field off the front of `rest` and returns it without its quotes. The result is a
// view of the record unless quotes had to be removed inside it.
std::string_view CsvReader::unquote(std::string_view& rest) {
  rest.remove_prefix(1);
  std::string unescaped;
  while (true) {
    const std::size_t quote = rest.find('"');
    if (quote == std::string_view::npos) fail("", "a quoted field is not closed");
    const std::string_view part = rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    const bool doubled = rest.starts_with('"');
    if (!doubled && unescaped.empty()) return part;
    unescaped.append(part);
    if (!doubled) {
      unquoted_.push_back(std::move(unescaped));
      return unquoted_.back();
    }
    unescaped += '"';
    rest.remove_prefix(1);
  }
}

// Reads another piece behind the record at begin_; returns false at the end of the stream.
bool CsvReader::refill() {
  if (end_ - begin_ > longest_record_bytes_) {
    fail("", fmt::format("the record is longer than {} bytes; is a quote not closed?",
                         longest_record_bytes_));
  }
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // As much again as a record has already: each piece is scanned from the record's start.
  const std::size_t piece =
      std::max(std::clamp(buffer_.size(), kFirstPieceBytes, kMostPieceBytes), end_);
  if (buffer_.size() < end_ + piece) buffer_.resize(end_ + piece);
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(piece));
  const auto got = static_cast<std::size_t>(in_.gcount());
  if (in_.bad()) throw TraceError({.source = source_, .problem = "the text cannot be read"});
  end_ += got;
  return got > 0;
}

std::string_view trimmed_cell(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string csv_field(std::string_view value) {
  const bool padded = trimmed_cell(value).size() != value.size();
  if (!padded && value.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(value);
  }
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted += '"';
}

CsvColumns::CsvColumns(CsvReader records, const CsvFormat& format)
    : records_(std::move(records)), position_(format.names.size(), kAbsent) {
  if (!records_.next()) records_.fail("", fmt::format("got no text, {}", format.expected));
  for (const std::string_view field : records_.fields()) {
    header_.emplace_back(trimmed_cell(field));
    const std::size_t column = column_named(format, header_.back());
    if (column < position_.size()) note(column, header_.size() - 1);
  }
  for (std::size_t column = 0; column < format.required; ++column) {
    if (has(column)) continue;
    const std::string header = fmt::format("{}", fmt::join(header_, ","));
    const std::string wrong = wrong_separator(header);
    records_.fail(
        "", fmt::format("{}, {}", wrong.empty() ? shown_cell(header) : wrong, format.expected));
  }
}

void CsvColumns::note(std::size_t column, std::size_t position) {
  if (has(column)) {
    records_.fail(header_[position],
                  name(column) == header_[position]
                      ? "the header names this column twice"
                      : fmt::format("the header has this column already, as {}", name(column)));
  }
  position_[column] = position;
}

bool CsvColumns::next() {
  if (!records_.next()) return false;
  if (records_.fields().size() == header_.size()) return true;
  records_.fail("", fmt::format("got {} fields, expected {} as in the header",
                                records_.fields().size(), header_.size()));
}

std::uint64_t CsvColumns::number(std::size_t column, std::uint64_t least,
                                 std::uint64_t most) const {
  const std::string_view text = trimmed_cell(field(column));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    fail(column, fmt::format("{}, expected a whole number from {} to {}", shown_cell(field(column)),
                             least, most));
  }
  return value;
}

}  // namespace skyline
