#pragma once

#include <filesystem>

namespace skyline {

// Throws UsageError if the folder of `file` does not exist. Does nothing for an empty path.
// Commands call it before their work, so that nothing is lost at its end.
void require_folder_of(const std::filesystem::path& file);

}  // namespace skyline
