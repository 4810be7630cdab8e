#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "train/checkpoints/files.h"

namespace skyline {

// A text file of a run that grows line by line. It is a regular file: a pipe or a device is refused
// when it is opened. Thread rule: one thread.
class LogFile {
 public:
  // Longer lines are damaged; a log is never read into memory as a whole.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // Opens or makes a file; follows no link. `shown` is its path in messages. Throws WriteError.
  explicit LogFile(const std::filesystem::path& path, std::filesystem::path shown = {});

  // Takes the lock of the file, which ends with the process. Returns false if another has it.
  bool lock();
  // True if `path` still leads to this file. Costs one system call.
  bool is_at(const std::filesystem::path& path) const;
  std::uint64_t bytes() const;

  // Ends the last line if it has no end, as editors leave it. Throws WriteError.
  void end_line();
  // Appends `text` and a line end. If that fails, the file stays as it was. Throws WriteError.
  void append(std::string_view text);

  // A whole line without its end; empty if it is longer than kLongestLine. `end` is the offset
  // behind it. Returns false to stop.
  using TakeLine = std::function<bool(std::string_view line, std::uint64_t end)>;
  // Reads in pieces. Text behind the last line end is not a line. Throws std::runtime_error.
  void for_each_line(const TakeLine& take) const;
  std::string first_line() const;  // without its end; empty if there is none

  // Cuts the file to `bytes`. Throws WriteError.
  void cut(std::uint64_t bytes);

 private:
  std::filesystem::path shown_;
  Descriptor file_;
  std::uint64_t device_ = 0, inode_ = 0;  // the file's identity
};

}  // namespace skyline
