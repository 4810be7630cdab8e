#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyline {

// A file could not be written: "cannot write runs/x/log.jsonl: No space left on device".
// What stood there before is intact, unless it is no regular file.
class WriteError : public std::runtime_error {
 public:
  WriteError(std::filesystem::path path, int error_number);
  const std::filesystem::path& path() const noexcept { return path_; }
  int error_number() const noexcept { return error_number_; }  // errno

 private:
  std::filesystem::path path_;
  int error_number_;
};

// A file that appears whole or not at all: written under a temporary name in the same folder;
// commit() syncs it, renames it and syncs the folder. Without commit() the destructor removes it.
// A symbolic link stays one, its target is replaced. What is no regular file, a device or a pipe
// say, is written to as it is.
class AtomicFile {
 public:
  // Throws WriteError.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throw WriteError naming the final path.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;       // as given
  std::filesystem::path target_;     // behind links
  std::filesystem::path temporary_;  // empty: the target is written directly
  int file_ = -1;
};

// AtomicFile, write, commit.
void write_atomically(const std::filesystem::path& path, std::string_view text);

// Makes names in a folder durable (fsync of the folder). Throws WriteError.
void sync_directory(const std::filesystem::path& folder);

// Writes all bytes to an open file, through short writes and interruptions. Throws WriteError.
void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path);

// The whole file. Throws std::runtime_error "cannot read PATH: cause".
std::string read_file(const std::filesystem::path& path);

}  // namespace skyline
