#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace skyline {

// A regular file that is read in pieces. It stays readable when its name is replaced or removed.
// Thread rule: read() may be called from several threads.
class InputFile {
 public:
  // Throws std::runtime_error "cannot read PATH: cause", also for folders, pipes and devices.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t bytes() const noexcept { return bytes_; }  // when it was opened

  // Fills `piece` with the bytes from `offset` on. Throws std::runtime_error, also if the file has
  // become shorter.
  void read(std::uint64_t offset, std::span<std::byte> piece) const;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
};

// Returns the SHA-256 of a file without holding all of it. Throws std::runtime_error.
std::string file_sha256(const std::filesystem::path& path);

}  // namespace skyline
