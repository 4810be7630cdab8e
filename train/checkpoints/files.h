#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace skyline {

// "No space left on device".
std::string system_message(int error_number);

// Ends the names of files that are being written: nobody else's files end so.
inline constexpr std::string_view kTemporaryEnding = ".skyline-tmp";

// A file could not be written: "cannot write runs/x/log.jsonl: No space left on device". The
// previous file is intact, unless it is not a regular file.
class WriteError : public std::runtime_error {
 public:
  WriteError(std::filesystem::path path, int error_number);
  // For causes that have no error number: "cannot write PATH: CAUSE".
  WriteError(std::filesystem::path path, const std::string& cause);
  const std::filesystem::path& path() const noexcept { return path_; }
  int error_number() const noexcept { return error_number_; }  // errno, or 0

 private:
  std::filesystem::path path_;
  int error_number_ = 0;
};

// An open file or folder, which the destructor closes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}  // -1: none
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  operator int() const noexcept { return number_; }

 private:
  int number_;
};

// Writes a file that appears whole or not at all. It is written under a temporary name in the same
// folder; commit() syncs it, renames it and syncs the folder; without commit() the destructor
// removes it. A symbolic link stays a link and its target is replaced. Devices, pipes and other
// special files are written directly; a pipe without a reader blocks. The temporary name is the
// file's with kTemporaryEnding; whatever has it is removed first.
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
  std::filesystem::path target_;     // with links resolved
  std::filesystem::path temporary_;  // empty: the target is written directly
  Descriptor file_;
};

// Writes a whole file through AtomicFile. Throws WriteError.
void write_atomically(const std::filesystem::path& path, std::string_view text);

// Makes the names in a folder durable with fsync. Throws WriteError.
void sync_directory(const std::filesystem::path& folder);

// Writes all bytes to an open file despite short writes and interruptions. Throws WriteError.
void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path);

// Reads a whole regular file. Throws std::runtime_error "cannot read PATH: cause", also for a pipe
// or a device, which could block or never end.
std::string read_file(const std::filesystem::path& path);

// An open file, or why there is none.
struct OpenedFile {
  Descriptor file;
  std::string cause;  // "it is a pipe, not a file"
};

// Opens a regular file with these flags of open(2); never blocks.
OpenedFile open_regular(const std::filesystem::path& path, int flags);

// Returns "it is a pipe, not a file" for whatever exists and is not a regular file, or a link that
// leads nowhere; otherwise nothing.
std::string special_file(const std::filesystem::path& path);

// Returns whether there is a regular file of this name. Throws std::runtime_error "cannot read
// PATH: cause" if it is a pipe, say, which could block.
bool is_file(const std::filesystem::path& path);

// A regular file that is read in pieces. It stays readable when its name is replaced or removed.
// Thread rule: read() may be called from several threads.
class InputFile {
 public:
  // Throws std::runtime_error "cannot read PATH: cause", also for folders, pipes and devices.
  explicit InputFile(std::filesystem::path path);

  std::uint64_t bytes() const noexcept { return bytes_; }  // when it was opened

  // Fills `piece` with the bytes from `offset` on. Throws std::runtime_error, also if the file has
  // become shorter.
  void read(std::uint64_t offset, std::span<std::byte> piece) const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;
};

// Returns the SHA-256 of a file without holding all of it. Throws std::runtime_error.
std::string file_sha256(const std::filesystem::path& path);

}  // namespace skyline
