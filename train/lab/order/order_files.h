#pragma once

#include <filesystem>

#include "memory/formats/graph_file.h"
#include "memory/formats/order_file.h"

namespace skyline {

// Read a step graph or an order from a file, or from standard input if the path is "-". Throw
// UsageError when the file cannot be opened or is invalid; the message names file and op.
GraphFile load_graph(const std::filesystem::path& path);
OrderFile load_order(const std::filesystem::path& path);

}  // namespace skyline
