#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "memory/errors.h"
#include "train/cli/usage_error.h"

namespace skyline {

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

}  // namespace skyline
