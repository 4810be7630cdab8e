#pragma once

#include <cstdint>
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

}  // namespace skyline
