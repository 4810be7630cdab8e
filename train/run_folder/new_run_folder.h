#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace skyline {

// Makes the folder of a new run and returns it. `out` must not exist, be empty, or hold no more
// than the empty log of a start that failed at once; throws UsageError otherwise. Without `out`,
// makes parent/<model>-<YYYYMMDD-HHMMSS>-<n> with the first free n from 1. Throws WriteError.
std::filesystem::path new_run_folder(const std::optional<std::filesystem::path>& out,
                                     std::string_view model, const std::filesystem::path& parent);

}  // namespace skyline
