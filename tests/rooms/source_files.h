#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline {

// True for .h, .cpp, .cu and .cuh.
bool is_source(const std::filesystem::path& path);

// The sources below the folders of `root`, sorted, as paths from `root`.
std::vector<std::string> source_files(const std::filesystem::path& root,
                                      const std::vector<std::string>& folders);

std::string file_text(const std::filesystem::path& path);

// A source's text without comments; ends of lines stay, so line numbers do too. Raw strings count
// as plain ones.
std::string without_comments(std::string_view text);

}  // namespace skyline
