#include "train/checkpoints/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace skyline {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

WriteError::WriteError(std::filesystem::path path, int error_number)
    : std::runtime_error(fmt::format("cannot write {}: {}", path.string(),
                                     std::generic_category().message(error_number))),
      path_(std::move(path)),
      error_number_(error_number) {}

void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw WriteError(path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
  std::error_code ignored;  // if status() fails, open() fails with a better message
  const std::filesystem::file_status status = std::filesystem::status(path_, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    if (std::filesystem::is_symlink(path_, ignored) && std::filesystem::exists(status)) {
      target_ = std::filesystem::canonical(path_);
    }
    constexpr mode_t kReadableByAll = 0666;  // before the user's umask
    temporary_ = target_.string() + ".tmp";
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll);
  }
  if (file_ < 0) throw WriteError(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(file_, bytes, path_); }

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  if (temporary_.empty()) {
    ::close(std::exchange(file_, -1));
    return;
  }
  if (::fsync(file_) != 0) throw WriteError(path_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw WriteError(path_, errno);
  ::close(std::exchange(file_, -1));
  sync_directory(folder_of(target_));
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_directory(const std::filesystem::path& folder) {
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) throw WriteError(folder, errno);
  const int error = ::fsync(directory) == 0 ? 0 : errno;
  ::close(directory);
  // Some network file systems cannot sync a folder; nothing more can be done there.
  if (error != 0 && error != EINVAL) throw WriteError(folder, error);
}

std::string read_file(const std::filesystem::path& path) {
  const auto refuse = [&path](int error) {
    return std::runtime_error(
        fmt::format("cannot read {}: {}", path.string(), std::generic_category().message(error)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw refuse(errno);
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::string content;
  std::size_t length = 0;
  ssize_t got = 0;
  do {
    content.resize(length + kPieceBytes);
    got = ::read(file, content.data() + length, kPieceBytes);
    if (got > 0) length += static_cast<std::size_t>(got);
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int error = errno;
  ::close(file);
  if (got < 0) throw refuse(error);
  content.resize(length);
  return content;
}

}  // namespace skyline
