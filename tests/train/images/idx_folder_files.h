#pragma once

#include <filesystem>
#include <string>

#include "tests/data/images/idx_bytes.h"
#include "tests/data/images/image_files.h"

namespace skyline::tests {

// Levels and label of image `index` of a split (0: training): 20 wide, 18 high, three classes of
// different brightness.
inline Bytes idx_levels(int split, int index) {
  Bytes levels;
  for (int i = 0; i < 20 * 18; ++i) {
    levels.push_back(
        static_cast<std::uint8_t>((i * 7 + index * 13 + split * 5) % 60 + 60 * (index % 3)));
  }
  return levels;
}
inline int idx_label(int, int index) { return index % 3; }

// Writes MNIST's four files. `folder` is made.
inline void write_idx_folder(const std::filesystem::path& folder, int train, int test) {
  for (const auto& [name, split, count] :
       {std::tuple("train", 0, train), std::tuple("t10k", 1, test)}) {
    Bytes images, labels;
    for (int i = 0; i < count; ++i) {
      images = joined(std::move(images), idx_levels(split, i));
      labels.push_back(static_cast<std::uint8_t>(idx_label(split, i)));
    }
    const auto size = static_cast<std::uint32_t>(count);
    const std::string prefix = std::string(name) + "-";
    write_file(folder / (prefix + "images-idx3-ubyte"), idx_bytes({size, 18, 20}, images));
    write_file(folder / (prefix + "labels-idx1-ubyte"), idx_bytes({size}, labels));
  }
}

}  // namespace skyline::tests
