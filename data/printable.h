#pragma once

#include <string>
#include <string_view>

namespace skyline {

// A file's name on one line of a message: control characters become \n, \t or \x1b; every other
// byte stays as it is, so that names in UTF-8 are read as such.
std::string printable(std::string_view name);

}  // namespace skyline
