#pragma once

#include <string>
#include <vector>

#include "train/cli/figures.h"
#include "train/images/image_data.h"

namespace skyline {

// "3 images could not be read: a.jpg (file is empty); b.jpg (…); c.jpg (…)" and a newline. Names
// the first ten; empty if all could be read.
std::string bad_images_text(const std::vector<BadImage>& images);
std::string bad_images_text(const ImageData& data);

Rows<BadImage> rows(const BadImage*);

}  // namespace skyline
