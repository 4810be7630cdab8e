#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/images/image_arrays.h"

namespace skyline {

// Returns whether a folder has one of the four files, of either split.
bool has_idx_files(const std::filesystem::path& folder);

// Reads one split of MNIST or of a drop-in replacement: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte of a folder, each with or without ".gz", and with "." instead of
// "-" before "idx" as on some mirrors; or EMNIST's files (emnist.h), whose images are turned
// upright. The content shows whether a file is gzip'd. Throws DataError naming the file: as
// parse_idx does, and when a file is missing or unreadable, images and labels differ in number, or
// a folder has several splits of EMNIST.
ImageArrays read_idx_split(const std::filesystem::path& folder, Split split);

// The data set that the four IDX files of a folder hold.
struct IdxCollection {
  std::string name;
  std::vector<std::string> class_names;
  bool recognised = false;  // by its labels, so that name and classes are those of a known set
};

// Names a collection by the labels of its splits; null: unknown or damaged.
using IdxNaming = std::function<IdxCollection(const IdxArray* train, const IdxArray* test)>;

// Reads the four IDX files of a folder and counts their images. Bad are: a file that is missing or
// damaged, with the images of its split left out; a label that has no class; and labels that differ
// from the images in number.
ImageScan scan_idx(const std::filesystem::path& folder, const IdxNaming& naming);

}  // namespace skyline
