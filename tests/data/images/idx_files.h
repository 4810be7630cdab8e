#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace skyline {

using Bytes = std::vector<std::uint8_t>;

// A temporary folder for one test, removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const Bytes& bytes) const;

 private:
  std::filesystem::path path_;
};

// The bytes of an IDX file: header (magic 0x0800 + rank, dimensions) and contents.
Bytes idx_bytes(const std::vector<std::uint32_t>& dimensions, const Bytes& contents);
Bytes gzipped(const Bytes& bytes);
Bytes joined(Bytes first, const Bytes& second);

}  // namespace skyline
