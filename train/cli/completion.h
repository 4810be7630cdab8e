#pragma once

#include <span>
#include <string>

#include "train/cli/cli.h"

namespace skyline {

inline constexpr const char* kBash = "bash";
inline constexpr const char* kZsh = "zsh";

// Returns a script for this shell that completes the commands, their options and the names that an
// option takes; elsewhere the shell completes files. zsh runs the script of bash.
std::string completion_script(std::span<const Command> commands, const std::string& shell);

}  // namespace skyline
