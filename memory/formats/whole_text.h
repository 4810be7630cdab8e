#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace skyline {

// Reads a stream to its end. `source` names it in errors. Throws GraphError if it cannot be read,
// a folder for example.
std::string whole_text(std::istream& in, std::string_view source);

}  // namespace skyline
