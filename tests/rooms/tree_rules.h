#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/rooms/room_rules.h"

namespace skyline {

// Returns the sources under `root`, outside of its tests/, with more than `most` lines, as
// "memory/plan.h: 601 lines, at most 600".
std::vector<Violation> long_sources(const std::filesystem::path& root, std::size_t most);

// Returns what `clang-format --dry-run` reports for the sources under `root`, one line per place,
// or that the tool is missing.
std::vector<Violation> format_violations(const std::filesystem::path& root);

// Returns the subject of the repository's last commit; none without git or history.
std::optional<std::string> last_subject(const std::filesystem::path& root);

// A subject has at most 72 characters (code points), so that `git log` shows it on one line.
bool fits_subject(const std::string& subject);

}  // namespace skyline
