#include "train/lab/trace_files.h"

#include "train/lab/load_file.h"

namespace skyline {

CsvTrace load_trace(const std::filesystem::path& path) {
  return load_file(
      path, [](std::istream& in, const std::string& name) { return read_trace_csv(in, name); });
}

CsvPlan load_plan(const std::filesystem::path& path) { return load_file(path, read_plan_csv); }

}  // namespace skyline
