#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace skyline {

// The labelled image files of one split.
struct ImageFiles {
  struct File {
    std::string path;  // below `root`, or absolute
    std::int32_t label = 0;
  };

  std::string source;  // the folder or list that names the files
  std::string root;
  std::vector<File> files;

  std::string path(std::size_t index) const;
};

// Both splits of an image folder (image_folder.h) or of two lists (read_image_lists()).
struct ImageCollection {
  std::string name;  // "caltech101-mini"
  std::vector<std::string> class_names;
  bool named = true;  // by the data; otherwise classes are numbers
  ImageFiles train, test;
  std::vector<std::string> warnings;  // what was skipped, one line each

  const ImageFiles& files(Split split) const noexcept {
    return split == Split::kTrain ? train : test;
  }
};

// Quotes up to four names: "'cat', 'dog'"; "'a', 'b', 'c', 'd', … (12)".
std::string listed_names(const std::vector<std::string>& names);

// Reads a text file with the name of one class per line, in the order of labels. Lines may end in
// CR LF; empty lines at the end are ignored, a byte order mark at the start, too. Throws DataError
// naming file and line when the file cannot be read, has no names, or has an empty line between
// names.
std::vector<std::string> read_class_names(const std::filesystem::path& file);

// "0", "1", …: the names of classes that have no others.
std::vector<std::string> numbered_classes(std::size_t classes);

struct ImageListOptions {
  std::filesystem::path train;  // a text file; empty: no training images
  std::filesystem::path test;
  std::filesystem::path root;  // base of relative paths; empty: each list's own folder
  std::optional<int> classes;  // unset: the largest label of the training list + 1
  // Names of the first classes, the others are called by their numbers; or of all classes, where
  // labels are names.
  std::vector<std::string> names;
};

// A label of this size or more is taken for a mistake.
inline constexpr int kMostClasses = 1'000'000;

// Reads the images of two text lists in the format of Chainer's LabeledImageDataset, one line
//
//   path label
//
// per image. The label is the last word of the line, or all after its last tab: everywhere a whole
// number from 0, or everywhere a name. Names without a file of them are sorted by bytes. The path
// is everything before the label, including blanks, and is relative to the root unless absolute.
// Empty lines are skipped; lines may end in CR LF; a byte order mark is skipped. A path cannot
// contain a line end. Throws DataError naming list and line when a line has no path or no label, a
// file is missing, a label is out of range, of the other kind or a name that the training list
// lacks, and when a list cannot be read or is empty.
ImageCollection read_image_lists(const ImageListOptions& options);

}  // namespace skyline
