#include "train/commands/output_file.h"

#include <fmt/format.h>

#include "train/cli/usage_error.h"

namespace skyline {

void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (file.empty() || folder.empty() || std::filesystem::is_directory(folder)) return;
  throw UsageError(fmt::format("no folder '{}' for {}", folder.string(), file.filename().string()));
}

}  // namespace skyline
