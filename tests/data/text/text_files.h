#pragma once

#include <string>
#include <string_view>

#include "tests/data/images/idx_files.h"

namespace skyline {

inline Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// Writes a text into a folder and returns its path.
inline std::filesystem::path write_text(const TemporaryFolder& folder, const std::string& name,
                                        std::string_view text) {
  folder.write(name, bytes_of(text));
  return folder.path() / name;
}

}  // namespace skyline
