#include "train/checkpoints/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

constexpr mode_t kReadableByAll = 0666;  // before the user's umask

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view cause) {
  throw std::runtime_error(fmt::format("cannot read {}: {}", path.string(), cause));
}

}  // namespace

std::string system_message(int error_number) {
  return std::generic_category().message(error_number);
}

WriteError::WriteError(std::filesystem::path path, int error_number)
    : WriteError(std::move(path), system_message(error_number)) {
  error_number_ = error_number;
}

WriteError::WriteError(std::filesystem::path path, const std::string& cause)
    : std::runtime_error(fmt::format("cannot write {}: {}", path.string(), cause)),
      path_(std::move(path)) {}

std::string special_file(const std::filesystem::path& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) == 0) {
    return S_ISREG(facts.st_mode) ? ""
                                  : fmt::format("it is {}, not a file", kind_of(facts.st_mode));
  }
  if (errno != ENOENT) return {};
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) return {};
  return fmt::format("it is a link to {}, which does not exist", target.string());
}

bool is_file(const std::filesystem::path& path) {
  if (const std::string special = special_file(path); !special.empty()) refuse(path, special);
  return std::filesystem::exists(path);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

OpenedFile open_regular(const std::filesystem::path& path, int flags) {
  // O_NONBLOCK opens a pipe that has no other end, too; for regular files it means nothing.
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kReadableByAll));
  const std::string failure = file < 0 ? system_message(errno) : "";
  const std::string special = special_file(path);
  if (file >= 0 && special.empty()) return {std::move(file), {}};
  return {Descriptor(), special.empty() ? failure : special};
}

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
    file_ = Descriptor(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    if (std::filesystem::is_symlink(path_, ignored) && std::filesystem::exists(status)) {
      target_ = std::filesystem::canonical(path_);
    }
    temporary_ = target_;
    temporary_ += kTemporaryEnding;
    // A killed process leaves such a file. Opening a pipe of that name would block.
    ::unlink(temporary_.c_str());
    file_ = Descriptor(
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadableByAll));
  }
  if (file_ < 0) throw WriteError(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0 && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(file_, bytes, path_); }

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  const bool renames = !temporary_.empty();
  if (renames && ::fsync(file_) != 0) throw WriteError(path_, errno);
  if (renames && ::rename(temporary_.c_str(), target_.c_str()) != 0) throw WriteError(path_, errno);
  file_ = Descriptor();
  if (renames) sync_directory(folder_of(target_));
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_directory(const std::filesystem::path& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory < 0) throw WriteError(folder, errno);
  // Some network file systems cannot sync a folder; nothing more can be done there.
  if (::fsync(directory) != 0 && errno != EINVAL) throw WriteError(folder, errno);
}

std::string read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::string content(file.bytes(), '\0');
  file.read(0, std::as_writable_bytes(std::span(content)));
  return content;
}

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  OpenedFile opened = open_regular(path_, O_RDONLY);
  struct stat facts = {};
  if (opened.file >= 0 && ::fstat(opened.file, &facts) != 0) opened.cause = system_message(errno);
  if (!opened.cause.empty()) refuse(path_, opened.cause);
  file_ = std::move(opened.file);
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> piece) const {
  while (!piece.empty()) {
    const ssize_t got = ::pread(file_, piece.data(), piece.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path_, system_message(errno));
    if (got == 0) refuse(path_, "it has become shorter");
    offset += static_cast<std::uint64_t>(got);
    piece = piece.subspan(static_cast<std::size_t>(got));
  }
}

std::string file_sha256(const std::filesystem::path& path) {
  constexpr std::uint64_t kBufferBytes = std::uint64_t{1} << 18;
  const InputFile file(path);
  Sha256 sha256;
  std::vector<std::byte> buffer(std::min(kBufferBytes, file.bytes()));
  for (std::uint64_t offset = 0; offset < file.bytes(); offset += buffer.size()) {
    const auto piece = std::span(buffer).first(std::min(buffer.size(), file.bytes() - offset));
    file.read(offset, piece);
    sha256.update(piece);
  }
  return sha256.hex();
}

}  // namespace skyline
