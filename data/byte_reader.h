#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skyline {

// Reads the bytes of a file from its start, piece by piece, and decompresses them if they are
// gzip'd (RFC 1952, one or more members). The checksum of each member is checked at its end.
class ByteReader {
 public:
  // Errors name the bytes `source`.
  ByteReader(std::string source, std::vector<std::uint8_t> contents);
  // Throws DataError when the file is missing, not a regular file or unreadable.
  static ByteReader open(const std::filesystem::path& path);
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;
  ~ByteReader();

  // Fills `bytes` and returns how many it wrote; fewer than asked means the end. Throws DataError
  // when the compressed bytes are corrupt, end early, or are followed by other bytes, and when more
  // than 64 MiB have come of them and 256 times as many as were read: no data are so repetitive,
  // and a megabyte could otherwise hold a gigabyte.
  std::size_t read(std::span<std::uint8_t> bytes);

  // An upper bound of the bytes still to come.
  std::uint64_t most_remaining_bytes() const noexcept;

  const std::string& source() const noexcept { return source_; }

 private:
  struct Input;
  struct Inflater;
  explicit ByteReader(std::unique_ptr<Input> input);

  std::string source_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<Inflater> inflater_;  // null if not gzip'd
};

}  // namespace skyline
