#pragma once

#include <string_view>

#include "memory/formats/graph_file.h"

namespace skyline {

// Parses the text of a graph file, without checking that it can be ordered: values that exist are
// all that it promises. Throws GraphError, which names the op. The parsed JSON is held as a whole:
// a chain of a million ops, 104 MB of text, took 1.2 GiB at the peak and 4.2 s of one core.
GraphFile parse_graph(std::string_view text, std::string_view source);

}  // namespace skyline
