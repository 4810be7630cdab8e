// Programs as text that other solvers read.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "memory/solvers/programs.h"

namespace skyline {

// Returns the program in CPLEX's LP format. `columns` are their names; `head` becomes a comment of
// a line or more.
std::string lp_text(const IntegerProgram& program, std::span<const std::string> columns,
                    std::string_view head);

// The same in MPS, in fixed columns, which readers of free MPS take, too. Names have at most eight
// letters.
std::string mps_text(const IntegerProgram& program, std::span<const std::string> columns,
                     std::string_view head);

}  // namespace skyline
