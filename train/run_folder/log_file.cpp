#include "train/run_folder/log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

// Puts lines together from pieces of a file.
class LogLines {
 public:
  explicit LogLines(const LogFile::TakeLine& take) : take_(take) {}

  // Returns false when the taker stopped.
  bool add(std::string_view piece) {
    for (auto end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
      keep(piece.substr(0, end));
      offset_ += end + 1;
      piece.remove_prefix(end + 1);
      const bool more = take_(too_long_ ? std::string_view() : std::string_view(line_), offset_);
      line_.clear();
      too_long_ = false;
      if (!more) return false;
    }
    keep(piece);
    offset_ += piece.size();
    return true;
  }

 private:
  void keep(std::string_view part) {
    too_long_ = too_long_ || line_.size() + part.size() > LogFile::kLongestLine;
    if (!too_long_) line_ += part;
  }

  const LogFile::TakeLine& take_;
  std::string line_;
  bool too_long_ = false;
  std::uint64_t offset_ = 0;
};

}  // namespace

LogFile::LogFile(const std::filesystem::path& path, std::filesystem::path shown)
    : shown_(shown.empty() ? path : std::move(shown)) {
  OpenedFile opened = open_regular(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW);
  if (opened.file < 0) throw WriteError(shown_, opened.cause);
  file_ = std::move(opened.file);
  struct stat facts = {};
  if (::fstat(file_, &facts) != 0) throw WriteError(shown_, errno);
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
}

bool LogFile::lock() { return ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

bool LogFile::is_at(const std::filesystem::path& path) const {
  struct stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
}

std::uint64_t LogFile::bytes() const {
  return static_cast<std::uint64_t>(::lseek(file_, 0, SEEK_END));
}

void LogFile::end_line() {
  char last = '\n';
  const std::uint64_t size = bytes();
  if (size > 0 && ::pread(file_, &last, 1, static_cast<off_t>(size - 1)) == 1 && last != '\n') {
    append("");
  }
}

void LogFile::append(std::string_view text) {
  const auto before = static_cast<off_t>(bytes());
  const std::string line = std::string(text) + '\n';
  try {
    write_all(file_, std::as_bytes(std::span(line)), shown_);
  } catch (const WriteError&) {
    // A full disk may have taken half a line. If cutting it off fails too, a resume will do it.
    [[maybe_unused]] const int ignored = ::ftruncate(file_, before);
    throw;
  }
}

void LogFile::for_each_line(const TakeLine& take) const {
  LogLines reader(take);
  std::string piece(kPieceBytes, '\0');
  for (off_t offset = 0;;) {
    const ssize_t got = ::pread(file_, piece.data(), piece.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw std::runtime_error(
          fmt::format("cannot read {}: {}", shown_.string(), system_message(errno)));
    }
    if (got == 0) return;
    if (!reader.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)))) return;
    offset += got;
  }
}

std::string LogFile::first_line() const {
  std::string first;
  for_each_line([&first](std::string_view line, std::uint64_t) {
    first = line;
    return false;
  });
  return first;
}

void LogFile::cut(std::uint64_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) throw WriteError(shown_, errno);
}

}  // namespace skyline
