#include "train/checkpoints/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view cause) {
  throw std::runtime_error(fmt::format("cannot read {}: {}", path.string(), cause));
}

std::string message(int error_number) { return std::generic_category().message(error_number); }

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  // Without O_NONBLOCK, a pipe that nobody writes would block here.
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) refuse(path_, message(errno));
  struct stat facts = {};
  const int error = ::fstat(file_, &facts) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(facts.st_mode)) {
    bytes_ = static_cast<std::uint64_t>(facts.st_size);
    return;
  }
  ::close(file_);
  refuse(path_, error != 0               ? message(error)
                : S_ISDIR(facts.st_mode) ? message(EISDIR)
                                         : "it is not a regular file");
}

InputFile::~InputFile() { ::close(file_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> piece) const {
  while (!piece.empty()) {
    const ssize_t got = ::pread(file_, piece.data(), piece.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path_, message(errno));
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
