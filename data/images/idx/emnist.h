#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/images/idx/idx_array.h"

namespace skyline {

// One split of EMNIST in a folder: emnist-SPLIT-{train,test}-{images-idx3,labels-idx1}-ubyte, each
// with or without ".gz", and emnist-SPLIT-mapping.txt.
// Source: Cohen, Afshar, Tapson, van Schaik, "EMNIST: an extension of MNIST to handwritten
// letters", 2017, arXiv:1702.05373.
struct Emnist {
  std::string name;                        // "emnist-letters"
  std::vector<std::string> class_names;    // "A/a"; empty: nothing names them, labels are classes
  std::map<int, std::uint8_t> classes_of;  // of labels: those of "letters" begin at 1
};

// Returns "emnist-letters" for a folder with such a file; empty if there is none. Throws DataError
// for several splits.
std::string emnist_name(const std::filesystem::path& folder);

// Reads which characters the labels stand for, from mapping.txt (a line "LABEL CODE CODE …" a
// class, ASCII codes); without it, the labels of "letters" are known. Throws DataError.
std::optional<Emnist> find_emnist(const std::filesystem::path& folder);

// Replaces labels by classes. Throws DataError that names the file and the record of a label that
// has none.
void labels_to_classes(const Emnist& emnist, const std::filesystem::path& file, IdxArray& labels);

// Exchanges rows and columns of N × height × width images, which EMNIST stores mirrored at the
// diagonal.
void turn_upright(IdxArray& images);

}  // namespace skyline
