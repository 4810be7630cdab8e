#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/images/image_error.h"

namespace skyline {

// Reads the big-endian numbers of an image file's header. Throws ImageError at the end of the file.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::uint8_t> file, std::size_t position)
      : file_(file), position_(position) {}

  std::size_t position() const noexcept { return position_; }

  std::uint32_t number(std::size_t bytes) {
    require(bytes);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | file_[position_++];
    return value;
  }
  void skip(std::size_t bytes) {
    require(bytes);
    position_ += bytes;
  }

 private:
  void require(std::size_t bytes) const {
    if (file_.size() - position_ < bytes) throw ImageError("file ends within its header");
  }

  std::span<const std::uint8_t> file_;
  std::size_t position_;  // at most the file's size
};

}  // namespace skyline
