#include "memory/formats/csv/csv_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kFirstPieceBytes = std::size_t{1} << 12;
constexpr std::size_t kMostPieceBytes = std::size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

CsvStream::CsvStream(std::istream& in, std::string_view source, std::string head)
    : in_(in), source_(source), buffer_(head.begin(), head.end()), end_(head.size()) {
  while (end_ < kByteOrderMark.size() && refill()) {
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) {
    begin_ = kByteOrderMark.size();
  }
}

void CsvStream::fail(std::string_view field, std::string problem) const {
  throw TraceError({.source = source_,
                    .line = record_line_,
                    .field = std::string(field),
                    .problem = std::move(problem)});
}

bool CsvStream::next() {
  quoted_.reset();
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

// Splits the record at begin_ at its commas. kCut: the buffer ends before the record does, which at
// the end of the stream is a record too. Moves on only when there is a record.
CsvStream::Scan CsvStream::scan_plain(bool at_end) {
  fields_.clear();
  const char* const start = buffer_.data() + begin_;
  const char* const stop = buffer_.data() + end_;
  const char* field = start;
  const char* at = start;
  for (; at != stop && *at != '\n'; ++at) {
    if (*at == ',') {
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

void CsvStream::read_quoted() {
  const std::size_t length = quoted_length();
  const std::string_view record(buffer_.data() + begin_, length);
  try {
    quoted_.emplace(record, source_);
    quoted_->next();
  } catch (const TraceError& error) {
    TraceErrorFacts facts = error.facts();
    facts.line += record_line_ - 1;
    throw TraceError(std::move(facts));
  }
  fields_.assign(quoted_->fields().begin(), quoted_->fields().end());
  line_ += static_cast<std::size_t>(std::count(record.begin(), record.end(), '\n'));
  begin_ += length;
  if (begin_ != end_) {
    ++begin_;
    ++line_;
  }
}

// Bytes of the record at begin_ without its line end. A field that begins with a quote may hold
// commas and line ends between its quotes; in any other field a quote is a letter.
std::size_t CsvStream::quoted_length() {
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

// Reads another piece behind the record at begin_; false at the end of the stream.
bool CsvStream::refill() {
  if (end_ - begin_ > kLongestRecordBytes) {
    fail("", fmt::format("the record is longer than {} bytes; is a quote not closed?",
                         kLongestRecordBytes));
  }
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t piece = std::clamp(buffer_.size(), kFirstPieceBytes, kMostPieceBytes);
  if (buffer_.size() < end_ + piece) buffer_.resize(end_ + piece);
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(piece));
  const auto got = static_cast<std::size_t>(in_.gcount());
  if (in_.bad()) throw TraceError({.source = source_, .problem = "the text cannot be read"});
  end_ += got;
  return got > 0;
}

}  // namespace skyline
