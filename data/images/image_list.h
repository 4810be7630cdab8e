#pragma once

#include <filesystem>
#include <optional>

#include "data/images/image_collection.h"

namespace skyline {

struct ImageListOptions {
  std::filesystem::path train;  // a text file; empty: no training images
  std::filesystem::path test;
  std::filesystem::path root;  // that paths are below; empty: each list's own folder
  std::optional<int> classes;  // unset: the largest label of the training list + 1
};

// Labels above this are taken for something else than a class.
inline constexpr int kMostClasses = 1'000'000;

// The images of two text lists, as Chainer's LabeledImageDataset reads them: a line
//
//   path label
//
// for each image. The label is a whole number from 0, the last word of the line; the path is all
// before it, blanks inside included, and lies below the root unless it is absolute. Empty lines are
// passed over; lines may end in CR LF. A path cannot hold a line end.
// Throws DataError naming list and line when a line has no path or no label, a file is missing, or
// a label is out of range; and when a list cannot be read or is empty.
ImageCollection read_image_lists(const ImageListOptions& options);

}  // namespace skyline
