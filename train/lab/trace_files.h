#pragma once

#include <filesystem>

#include "memory/formats/csv/trace_csv.h"

namespace skyline {

// Read a trace or a plan from a file, or from standard input if the path is "-". Throw UsageError
// when the file cannot be opened or is invalid; the message names file, line and field.
CsvTrace load_trace(const std::filesystem::path& path);
CsvPlan load_plan(const std::filesystem::path& path);

}  // namespace skyline
