#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_collection.h"

namespace skyline {

struct ImageListOptions {
  std::filesystem::path train;  // a text file; empty: no training images
  std::filesystem::path test;
  std::filesystem::path root;      // base of relative paths; empty: each list's own folder
  std::optional<int> classes;      // unset: the largest label of the training list + 1
  std::vector<std::string> names;  // of the first classes; the others are called by their numbers
};

// A label of this size or more is taken for a mistake.
inline constexpr int kMostClasses = 1'000'000;

// Reads the images of two text lists in the format of Chainer's LabeledImageDataset, one line
//
//   path label
//
// per image. The label is the last word of the line, a whole number from 0. The path is everything
// before it, including blanks, and is relative to the root unless absolute. Empty lines are
// skipped; lines may end in CR LF. A path cannot contain a line end. Throws DataError naming list
// and line when a line has no path or no label, a file is missing, or a label is out of range, and
// when a list cannot be read or is empty.
ImageCollection read_image_lists(const ImageListOptions& options);

}  // namespace skyline
