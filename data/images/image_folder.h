#pragma once

#include <filesystem>

#include "data/images/image_collection.h"

namespace skyline {

// Whether a folder holds train, val or test, as an image folder does.
bool is_image_folder(const std::filesystem::path& folder);

// The images of DIR/train/<class>/* and DIR/val/<class>/* (or DIR/test). Classes are the folders of
// train, by the bytes of their names; that order gives the labels. Files come by class, then by
// name. Every file counts as an image, whatever its name, but for those whose name begins with a
// dot; folders inside of classes are passed over with a warning, and so is a class of val that has
// no images. With `needs_train` false train may be missing: val then gives the classes.
// Throws DataError when a folder is missing or cannot be read, when there is no class, when a class
// of train has no images, or when val has a class that train has not.
ImageCollection scan_image_folder(const std::filesystem::path& folder, bool needs_train = true);

}  // namespace skyline
