#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/images/image_data.h"

namespace skyline {

// "3 images could not be read: a.jpg (file is empty); b.jpg (…); c.jpg (…)" and a newline. Names
// the first ten; empty if all could be read.
std::string bad_images_text(const std::vector<BadImage>& images);
std::string bad_images_text(const ImageData& data);

// All of them as JSON: [{"path": …, "reason": …}, …].
nlohmann::ordered_json bad_images_json(const ImageData& data);
nlohmann::ordered_json to_json(const std::vector<BadImage>& images);

}  // namespace skyline
