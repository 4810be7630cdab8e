#pragma once

#include <filesystem>
#include <string>

#include "tests/data/images/image_files.h"

namespace skyline::tests {

// Writes an image folder with two classes of different colour. Each has `train` training and `val`
// validation images of 9 x 7 pixels.
inline void write_image_folder(const std::filesystem::path& folder, int train, int val) {
  const auto write = [&](const std::string& split, int images) {
    for (int i = 0; i < images; ++i) {
      const auto shade = static_cast<std::uint8_t>(10 * (i % 8));
      const std::string name = std::to_string(i) + ".png";
      write_file(folder / split / "blue" / name, plain_png(9, 7, shade, shade, 220));
      write_file(folder / split / "red ones" / name, plain_png(9, 7, 220, shade, shade));
    }
  };
  write("train", train);
  write("val", val);
}

// Adds one unreadable file of each kind to the class `blue`: truncated, empty, arithmetic-coded.
inline void write_bad_images(const std::filesystem::path& folder) {
  write_file(folder / "train/blue/bad 1.jpg", truncated_jpeg());
  write_file(folder / "train/blue/bad 2.jpg", {});
  write_file(folder / "val/blue/bad \"3\".jpg", arithmetic_jpeg());
}

}  // namespace skyline::tests
