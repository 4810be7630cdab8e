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

#include "train/checkpoints/atomic_file.h"
#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view cause) {
  throw std::runtime_error(fmt::format("cannot read {}: {}", path.string(), cause));
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  OpenedFile opened = open_regular(path_, O_RDONLY);
  struct stat facts = {};
  if (opened.file >= 0 && ::fstat(opened.file, &facts) != 0) opened.cause = system_message(errno);
  if (!opened.cause.empty()) {
    if (opened.file >= 0) ::close(opened.file);
    refuse(path_, opened.cause);
  }
  file_ = opened.file;
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
}

InputFile::~InputFile() { ::close(file_); }

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
