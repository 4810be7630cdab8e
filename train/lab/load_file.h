#pragma once

#include <filesystem>

#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/graph_file.h"
#include "memory/formats/order_file.h"

namespace skyline {

// Read a trace, a plan, a step graph or an order from a file, or from standard input if the path is
// "-". Throw UsageError when the file cannot be opened or is invalid; the message names the file
// and the line and field, or the op.
Trace load_trace(const std::filesystem::path& path);
CsvPlan load_plan(const std::filesystem::path& path);
GraphFile load_graph(const std::filesystem::path& path);
OrderFile load_order(const std::filesystem::path& path);

}  // namespace skyline
