#pragma once

#include <string_view>

#include "memory/formats/graph_file.h"

namespace skyline {

// Parses the text of a graph file, without checking that it can be ordered: values that exist are
// all that it promises. Throws GraphError, which names the op.
GraphFile parse_graph(std::string_view text, std::string_view source);

}  // namespace skyline
