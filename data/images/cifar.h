#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_arrays.h"

namespace skyline {

// A folder with the binary version of CIFAR-10 (data_batch_1.bin to data_batch_5.bin and
// test_batch.bin) or CIFAR-100 (train.bin and test.bin). A record is a label in one byte, in
// CIFAR-100 that of the coarse class in another before it, and the levels of 32 × 32 pixels: all
// red ones, all green ones, all blue ones, each row by row.
// Source: Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
struct Cifar {
  std::filesystem::path folder;
  std::string name;                      // "cifar-10"
  std::vector<std::string> train, test;  // files
  std::size_t label_bytes = 1;
  std::vector<std::string> class_names;  // of its file of names, or else as published
  std::vector<std::string> warnings;     // missing batches
};

// Returns nothing for a folder without such files. Throws DataError for the version of Python, and
// where the file of names does not fit.
std::optional<Cifar> find_cifar(const std::filesystem::path& folder);

// Throws DataError that names the file, and the record, when a file is missing, cut or empty, or a
// label has no class.
ImageArrays read_cifar_split(const Cifar& cifar, Split split);

// Counts the images; a split with a file that cannot be used is left out.
ImageScan scan_cifar(const Cifar& cifar);

}  // namespace skyline
