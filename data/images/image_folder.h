#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_collection.h"

namespace skyline {

// Returns whether train, or a folder for validation, holds the folder of a class.
bool has_class_folders(const std::filesystem::path& folder);

// Returns whether a folder holds folders that are not hidden.
bool has_folders(const std::filesystem::path& folder);

// Returns a folder's own name, also of "data/" and ".", on one line.
std::string folder_name(const std::filesystem::path& folder);

// Lists the images below the folders and files of `roots`, in this order, the files of a folder
// sorted by name and before its folders. Hidden files and folders are left out, a folder that is
// reached a second time, too. Throws DataError when a folder cannot be read or has no images.
ImageFiles image_files_below(const std::vector<std::filesystem::path>& roots);

// Names what a folder holds: "folders 'cat', 'dog', no files".
std::string content_text(const std::filesystem::path& folder);

struct ImageFolderOptions {
  bool needs_train = true;  // otherwise train may be missing, and the other split gives the classes
  bool needs_test = true;   // otherwise the other split may be missing
  // The share of each class's training images to validate on, between 0 and 1, where no folder is
  // for that.
  std::optional<double> val_share = {};
};

// Lists the images of DIR/train/<class>/* and DIR/val/<class>/*, or with `val_share` those of
// DIR/train/<class>/* or DIR/<class>/* alone. Instead of val, the folder may be called valid,
// validation or test; the first of these is read, and a warning names the others. The folders of
// train are the classes; sorting their names by bytes gives the labels. Files are sorted by class,
// then by name. Every file counts as an image unless its name begins with a dot. Class and file
// name alone decide whether an image is held out, so that added files move no other one; a class of
// two or more has images in both splits. Folders inside classes only give a warning. Without
// `val_share`, DIR/<class>/* is refused if both splits are needed, and else belongs to the one that
// is, or to training. Throws DataError when a folder is missing or cannot be read, there is no
// class, a class of train has no images, val has a class that train lacks, or `val_share` is given
// beside val.
ImageCollection scan_image_folder(const std::filesystem::path& folder,
                                  const ImageFolderOptions& options = {});

}  // namespace skyline
