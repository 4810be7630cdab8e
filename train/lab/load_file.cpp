#include "train/lab/load_file.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "memory/errors.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

// Returns read(stream, name) of a file, or of standard input if the path is "-". Throws UsageError
// when the file cannot be opened and for a TraceError or GraphError of `read`.
template <class Read>
auto load_file(const std::filesystem::path& path, Read read) {
  try {
    if (path == "-") return read(std::cin, std::string("standard input"));
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      throw UsageError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    }
    return read(file, path.string());
  } catch (const TraceError& error) {
    throw UsageError(error.what());
  } catch (const GraphError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

Trace load_trace(const std::filesystem::path& path) {
  return load_file(
      path, [](std::istream& in, const std::string& name) { return read_trace_csv(in, name); });
}

CsvPlan load_plan(const std::filesystem::path& path) { return load_file(path, read_plan_csv); }

GraphFile load_graph(const std::filesystem::path& path) { return load_file(path, read_graph); }

OrderFile load_order(const std::filesystem::path& path) { return load_file(path, read_order); }

}  // namespace skyline
