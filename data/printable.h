#pragma once

#include <string>
#include <string_view>

namespace skyline {

// Makes a file name fit on one line of a message: control characters become \n, \t or \x1b; all
// other bytes stay, so UTF-8 names remain readable.
std::string printable(std::string_view name);

}  // namespace skyline
