#pragma once

#include <filesystem>

#include "memory/formats/csv/trace_csv.h"

namespace skyline {

// A trace or a plan from a file, or from standard input when the path is "-". Throw UsageError when
// the file cannot be opened or makes no sense: then the sentence names file, line and field.
CsvTrace load_trace(const std::filesystem::path& path);
CsvPlan load_plan(const std::filesystem::path& path);

}  // namespace skyline
