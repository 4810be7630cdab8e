#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/rooms/room_rules.h"

namespace skyline {

// Returns the folders of code under `root` with more than `most` sources directly in them, as
// "train: 138 files of code, at most 25".
std::vector<Violation> crowded_folders(const std::filesystem::path& root, std::size_t most);

// Returns what `clang-format --dry-run` reports for the sources under `root`, one line per place,
// or that the tool is missing.
std::vector<Violation> format_violations(const std::filesystem::path& root);

// Returns the subject of the repository's last commit; none without git or history.
std::optional<std::string> last_subject(const std::filesystem::path& root);

// A subject has at most 72 characters (code points), so that `git log` shows it on one line.
bool fits_subject(const std::string& subject);

}  // namespace skyline
