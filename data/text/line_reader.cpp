#include "data/text/line_reader.h"

#include "data/errors.h"

namespace skyline {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kNotCountedBytes = kByteOrderMark.size() + 1;  // the mark and CR

}  // namespace

bool LineReader::fill() {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kPieceBytes);
  const std::size_t read =
      reader_.read({reinterpret_cast<std::uint8_t*>(buffer_.data()) + had, kPieceBytes});
  buffer_.resize(had + read);
  return read > 0;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t end = buffer_.find('\n', scanned_);
  while (end == std::string::npos) {
    scanned_ = buffer_.size();
    // Reading stops at the limit: the line is refused below without having been read to its end.
    if (scanned_ - begin_ > kMostBytes + kNotCountedBytes || !fill()) break;
    end = buffer_.find('\n', scanned_);
  }
  const bool ended = end != std::string::npos;
  if (!ended && begin_ == buffer_.size()) return std::nullopt;
  std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = scanned_ = ended ? end + 1 : buffer_.size();
  if (++line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMostBytes) {
    throw DataError(source(), "line " + std::to_string(line_) + " is longer than " +
                                  std::to_string(kMostBytes) + " bytes");
  }
  return line;
}

}  // namespace skyline
