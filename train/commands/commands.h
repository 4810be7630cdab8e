#pragma once

#include <vector>

#include "train/cli.h"

namespace skyline {

// Every command of the program, in the order of the help.
const std::vector<Command>& all_commands();

// train/commands/<name>_command.cpp: options and run of one command each.

}  // namespace skyline
