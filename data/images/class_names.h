#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline {

// Reads a text file with the name of one class per line, in the order of labels. Lines may end in
// CR LF; empty lines at the end are ignored. Throws DataError naming file and line when the file
// cannot be read, has no names, or has an empty line between names.
std::vector<std::string> read_class_names(const std::filesystem::path& file);

// "0", "1", …: the names of classes that have no others.
std::vector<std::string> numbered_classes(std::size_t classes);

}  // namespace skyline
