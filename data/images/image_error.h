#pragma once

#include <stdexcept>

namespace skyline {

// Why an image file cannot be used: "file ends early, …". The caller adds the file's name.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace skyline
