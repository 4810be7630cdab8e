#pragma once

#include <filesystem>

#include "data/images/idx/idx_collection.h"
#include "data/images/image_scan.h"

namespace skyline {

// Reads the four IDX files of a folder and counts their images. Bad are: a file that is missing or
// damaged, with the images of its split left out; a label that has no class; and labels that differ
// from the images in number.
ImageScan scan_idx(const std::filesystem::path& folder, const IdxNaming& naming);

}  // namespace skyline
