#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline {

// The table of allowed_includes.txt: which headers each folder may include.
class AllowedIncludes {
 public:
  // Throws std::runtime_error that names the line for a row without a colon.
  explicit AllowedIncludes(const std::filesystem::path& file);

  // True if a file of `folder` ("memory/session") may include "header", a path from the root.
  bool file(const std::string& folder, const std::string& header) const;
  // The same for <header>. Only headers of libraries that some row names are restricted.
  bool permits_library(const std::string& folder, const std::string& header) const;

 private:
  struct Row {
    std::string folders;
    std::vector<std::string> headers;
  };

  bool any(const std::string& folder, const std::string& header,
           bool (*allows)(const std::string& right, const std::string& header)) const;

  std::vector<Row> rows_;
};

}  // namespace skyline
