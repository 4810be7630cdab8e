#include "memory/formats/csv/csv.h"

#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

CsvRecords::CsvRecords(std::string_view text, std::string_view source)
    : text_(text), source_(source) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

// The length of the line end at `from`: 0 when there is none, 2 for CRLF. A carriage return on its
// own is one only as the last character.
std::size_t CsvRecords::line_end(std::size_t from) const {
  if (from >= text_.size()) return 0;
  if (text_[from] == '\n') return 1;
  if (text_[from] != '\r') return 0;
  if (from + 1 == text_.size()) return 1;
  return text_[from + 1] == '\n' ? 2 : 0;
}

bool CsvRecords::next() {
  fields_.clear();
  unquoted_.clear();
  for (std::size_t length = line_end(position_); length != 0; length = line_end(position_)) {
    position_ += length;
    ++line_;
  }
  if (position_ == text_.size()) return false;
  record_line_ = line_;
  while (true) {
    const bool quoted = position_ < text_.size() && text_[position_] == '"';
    fields_.push_back(quoted ? quoted_field() : plain_field());
    if (position_ == text_.size()) return true;
    if (const std::size_t length = line_end(position_); length != 0) {
      position_ += length;
      ++line_;
      return true;
    }
    ++position_;  // the comma
  }
}

std::string_view CsvRecords::plain_field() {
  const std::size_t begin = position_;
  std::size_t end = begin;  // fields are short: a loop beats find_first_of three times
  while (end < text_.size() && text_[end] != ',' && text_[end] != '\n') ++end;
  if (end > begin && line_end(end - 1) != 0) --end;  // the carriage return belongs to the line end
  position_ = end;
  return text_.substr(begin, end - begin);
}

std::string_view CsvRecords::quoted_field() {
  const std::size_t begin = ++position_;
  std::string unescaped;
  std::size_t copied = begin;
  while (true) {
    const std::size_t quote = text_.find('"', position_);
    if (quote == std::string_view::npos) {
      throw TraceError({.source = std::string(source_),
                        .line = record_line_,
                        .problem = "a quoted field is not closed"});
    }
    for (; position_ < quote; ++position_) line_ += text_[position_] == '\n';
    position_ = quote + 1;
    if (position_ == text_.size() || text_[position_] != '"') break;
    unescaped.append(text_.substr(copied, position_ - copied));  // one of the two quotes
    copied = ++position_;
  }
  if (position_ < text_.size() && text_[position_] != ',' && line_end(position_) == 0) {
    throw TraceError({.source = std::string(source_),
                      .line = record_line_,
                      .problem = "text follows the closing quote of a field"});
  }
  const std::string_view rest = text_.substr(copied, position_ - 1 - copied);
  if (copied == begin) return rest;
  unquoted_.push_back(unescaped.append(rest));
  return unquoted_.back();
}

std::string csv_field(std::string_view value) {
  const bool spaced = !value.empty() && (value.front() == ' ' || value.back() == ' ' ||
                                         value.front() == '\t' || value.back() == '\t');
  if (!spaced && value.find_first_of(",\"\r\n") == std::string_view::npos)
    return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted += '"';
}

}  // namespace skyline
