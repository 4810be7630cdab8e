#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace skyline {

// Labelled image files of one split.
struct ImageFiles {
  struct File {
    std::string path;  // below `root`, or absolute
    std::int32_t label = 0;
  };

  std::string source;  // the folder or list that names them
  std::string root;
  std::vector<File> files;

  std::string path(std::size_t index) const;
};

// Both splits of an image folder or of two lists; see image_folder.h and image_list.h.
struct ImageCollection {
  std::string name;  // "caltech101-mini"
  std::vector<std::string> class_names;
  ImageFiles train, test;
  std::vector<std::string> warnings;  // what was passed over, a line each

  const ImageFiles& files(Split split) const noexcept {
    return split == Split::kTrain ? train : test;
  }
};

}  // namespace skyline
