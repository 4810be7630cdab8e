#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace skyline {

// Reads a stream to its end, or until the text has more than `most` bytes, and appends it to
// `head`. The caller looks at in.bad().
std::string text_to_end(std::istream& in, std::string head, std::size_t most);

// Reads a stream to its end. `source` names it in errors. Throws GraphError if it cannot be read,
// a folder for example.
std::string whole_text(std::istream& in, std::string_view source);

}  // namespace skyline
