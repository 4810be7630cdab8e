#include "data/images/image_collection.h"

#include <filesystem>
#include <sstream>

#include "data/host.h"
#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_header.h"

namespace skyline {
namespace {

std::string contents(const std::filesystem::path& file) {
  try {
    const std::vector<std::uint8_t> bytes = read_image_file(file);
    return {bytes.begin(), bytes.end()};
  } catch (const ImageError& error) {
    throw DataError(printable(file.string()), error.what());
  }
}

}  // namespace

std::string ImageFiles::path(std::size_t index) const {
  return (std::filesystem::path(root) / files[index].path).string();
}

std::vector<std::string> read_class_names(const std::filesystem::path& file) {
  std::istringstream lines(contents(file));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names.push_back(std::move(line));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) throw DataError(printable(file.string()), "names no classes");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) continue;
    throw DataError(
        printable(file.string()),
        "line " + std::to_string(i + 1) + ": the name of class " + std::to_string(i) + " is empty");
  }
  return names;
}

std::vector<std::string> numbered_classes(std::size_t classes) {
  std::vector<std::string> names;
  for (std::size_t label = 0; label < classes; ++label) names.push_back(std::to_string(label));
  return names;
}

}  // namespace skyline
