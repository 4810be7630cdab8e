#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skyline {

// Reads the bytes of a file from its start, decompressing them when they are gzip'd (RFC 1952, one
// or more members). The checksum of each member is compared as its end is passed.
class ByteReader {
 public:
  // `source` names the bytes in errors.
  ByteReader(std::string source, std::vector<std::uint8_t> contents);
  // Throws DataError when the file is missing, not a regular file or unreadable.
  static ByteReader open(const std::filesystem::path& path);
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;
  ~ByteReader();

  // Fills `bytes` as far as there are some; fewer mean the end. Throws DataError when the
  // compressed bytes are corrupt, end early, or are followed by others.
  std::size_t read(std::span<std::uint8_t> bytes);

  // No more than this can still come.
  std::uint64_t most_remaining_bytes() const noexcept;

  const std::string& source() const noexcept { return source_; }

 private:
  struct Inflater;

  std::string source_;
  std::vector<std::uint8_t> contents_;
  std::size_t position_ = 0;            // of the next byte of contents_, when not gzip'd
  std::unique_ptr<Inflater> inflater_;  // none when not gzip'd
};

}  // namespace skyline
