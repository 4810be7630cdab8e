#pragma once

#include <cstdint>
#include <filesystem>
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

// Both splits of an image folder (image_folder.h) or of two lists (image_list.h).
struct ImageCollection {
  std::string name;  // "caltech101-mini"
  std::vector<std::string> class_names;
  ImageFiles train, test;
  std::vector<std::string> warnings;  // what was skipped, one line each

  const ImageFiles& files(Split split) const noexcept {
    return split == Split::kTrain ? train : test;
  }
};

// Reads a text file with the name of one class per line, in the order of labels. Lines may end in
// CR LF; empty lines at the end are ignored. Throws DataError naming file and line when the file
// cannot be read, has no names, or has an empty line between names.
std::vector<std::string> read_class_names(const std::filesystem::path& file);

// "0", "1", …: the names of classes that have no others.
std::vector<std::string> numbered_classes(std::size_t classes);

}  // namespace skyline
