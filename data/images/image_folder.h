#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/images/image_collection.h"

namespace skyline {

// Returns whether a folder contains train, val or test, as an image folder does.
bool is_image_folder(const std::filesystem::path& folder);
// Returns whether one of them holds the folder of a class.
bool has_class_folders(const std::filesystem::path& folder);

// Returns a folder's own name, also of "data/" and ".", on one line.
std::string folder_name(const std::filesystem::path& folder);

// Lists the images below the folders and files of `roots`, in this order, the files of a folder
// sorted by name and before its folders. Hidden files and folders are left out, a folder that is
// reached a second time, too. Throws DataError when a folder cannot be read or has no images.
ImageFiles image_files_below(const std::vector<std::filesystem::path>& roots);

// Lists the images of DIR/train/<class>/* and DIR/val/<class>/* (or DIR/test). The folders of train
// are the classes; sorting their names by bytes gives the labels. Files are sorted by class, then
// by name. Every file counts as an image unless its name begins with a dot. Folders inside classes
// and classes of val without images only give a warning. If `needs_train` is false, train may be
// missing and val gives the classes. Throws DataError when a folder is missing or cannot be read,
// there is no class, a class of train has no images, or val has a class that train lacks.
ImageCollection scan_image_folder(const std::filesystem::path& folder, bool needs_train = true);

}  // namespace skyline
