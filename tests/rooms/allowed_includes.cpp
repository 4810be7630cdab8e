#include "tests/rooms/allowed_includes.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace skyline {
namespace {

std::string folder_of(const std::string& file) {
  return std::filesystem::path(file).parent_path().generic_string();
}

// True if `folder` is the folder of "a/**" or lies below it.
bool is_below(const std::string& folder, const std::string& pattern) {
  const std::string top = pattern.substr(0, pattern.size() - 3);
  return folder == top || folder.starts_with(top + '/');
}

bool names_folder(const std::string& pattern, const std::string& folder) {
  return pattern.ends_with("/**") ? is_below(folder, pattern) : folder == pattern;
}

bool allows_file(const std::string& right, const std::string& header) {
  if (right.ends_with("/**")) return is_below(folder_of(header), right);
  if (right.ends_with("/*")) return folder_of(header) + "/*" == right;
  return header == right;
}

bool allows_library(const std::string& right, const std::string& header) {
  return right.starts_with('<') && header.starts_with(right.substr(1));
}

}  // namespace

AllowedIncludes::AllowedIncludes(const std::filesystem::path& file) {
  std::ifstream stream(file);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      throw std::runtime_error(file.string() + ':' + std::to_string(number) + ": no colon");
    }
    std::istringstream words(line.substr(colon + 1));
    rows_.push_back({line.substr(0, colon), {std::istream_iterator<std::string>(words), {}}});
  }
}

bool AllowedIncludes::file(const std::string& folder, const std::string& header) const {
  return folder_of(header) == folder || any(folder, header, allows_file);
}

bool AllowedIncludes::permits_library(const std::string& folder, const std::string& header) const {
  const bool restricted = std::ranges::any_of(rows_, [&](const Row& row) {
    return std::ranges::any_of(
        row.headers, [&](const std::string& right) { return allows_library(right, header); });
  });
  return !restricted || any(folder, header, allows_library);
}

bool AllowedIncludes::any(const std::string& folder, const std::string& header,
                          bool (*allows)(const std::string&, const std::string&)) const {
  return std::ranges::any_of(rows_, [&](const Row& row) {
    return names_folder(row.folders, folder) &&
           std::ranges::any_of(row.headers,
                               [&](const std::string& right) { return allows(right, header); });
  });
}

}  // namespace skyline
