#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/idx/idx_array.h"
#include "data/images/normalisation.h"

namespace skyline {

// The labelled images of one split of MNIST or of a drop-in replacement, in the files
// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte of a folder, each with or
// without ".gz", and with "." instead of "-" before "idx" as on some mirrors. The content shows
// whether a file is gzip'd.
struct IdxSplit {
  std::filesystem::path images_file, labels_file;
  IdxArray images;  // N × height × width
  IdxArray labels;  // N

  std::size_t size() const noexcept { return labels.bytes.size(); }
  ImageShape shape() const;     // of one image
  std::size_t classes() const;  // the largest label + 1
};

// Returns whether a folder has one of the four files, of either split.
bool has_idx_files(const std::filesystem::path& folder);

// Finds the file of a split under one of its usual names; `kind` is "images" or "labels". Throws
// DataError if there is none.
std::filesystem::path find_idx_file(const std::filesystem::path& folder, Split split,
                                    const std::string& kind);

// Reads both files of a split into memory. Throws DataError naming the file: as parse_idx does, and
// when a file is missing or unreadable, or images and labels differ in number.
IdxSplit read_idx_split(const std::filesystem::path& folder, Split split);

// Throws DataError that names the first label which is not below `classes`.
void check_labels(const IdxSplit& split, std::size_t classes);

// Mean and standard deviation over every pixel of the images, from exact sums, rounded to four
// significant digits, as the figures of MNIST (0.1307 and 0.3081) and Fashion-MNIST (0.2860 and
// 0.3530) are published. The deviation of images of one level is given as 1.
Normalisation normalisation_of(const IdxSplit& split);

}  // namespace skyline
