#include "train/lab/trace_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "memory/errors.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

template <class Read>
auto load(const std::filesystem::path& path, Read read) {
  try {
    if (path == "-") return read(std::cin, "standard input");
    std::ifstream file(path, std::ios::binary);
    if (!file)
      throw UsageError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    return read(file, path.string());
  } catch (const TraceError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

CsvTrace load_trace(const std::filesystem::path& path) {
  return load(path,
              [](std::istream& in, const std::string& name) { return read_trace_csv(in, name); });
}

CsvPlan load_plan(const std::filesystem::path& path) { return load(path, read_plan_csv); }

}  // namespace skyline
