#pragma once

#include <stdexcept>

namespace skyline {

// Why an image file cannot be used: "file ends early, …". Whoever knows the file's name adds it.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace skyline
