#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline {

// "framework/op.cpp:12: framework may not include memory/plan.h"
using Violation = std::string;

// Checks every source of the rooms under `root` and returns the violations, sorted by file:
//   - an include that allowed_includes.txt does not permit, or not written from the root;
//   - JSON or CLI11 in a header (forward declarations are free): each costs seconds per includer;
//   - CUDA headers or `#if …CUDA` outside the CUDA files;
//   - a library that prints or exits.
// Comments are ignored.
std::vector<Violation> room_violations(const std::filesystem::path& root);

// The number of files that room_violations() checks.
std::size_t room_files(const std::filesystem::path& root);

}  // namespace skyline
