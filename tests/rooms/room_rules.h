#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline {

// "framework/op.cpp:12: framework may not include memory/plan.h"
using Violation = std::string;

// Reads every source file (.h, .cpp, .cu, .cuh) of the rooms under `root` and returns what breaks
// the table of rooms: an include that the room must not know, or that is not written from the
// root; a compute library or CUDA where it does not belong; `#if …CUDA` outside the CUDA files; a
// library that prints or exits. Files in order of their names; sees through comments.
std::vector<Violation> room_violations(const std::filesystem::path& root);

// How many files that looked at.
std::size_t room_files(const std::filesystem::path& root);

}  // namespace skyline
