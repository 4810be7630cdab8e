// Every planner on the trace files in the directory that the environment variable SKYLINE_TRACES
// names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/planners/registry.h"
#include "tests/memory/planners/plan_with.h"

namespace skyline {
namespace {

// mip and smt refuse large traces. plan() throws if the validator rejects a plan.
void plan_by_all(const std::string& file, const Trace& trace) {
  const PlanOptions options{.alignment = 1, .time_limit_seconds = 0.5};
  const Plan best = plan_with(trace, kDefaultPlanner, options);
  for (const PlannerEntry& entry : all_planners()) {
    SCOPED_TRACE(testing::Message() << file << ", " << entry.name);
    try {
      const Plan found = plan_with(trace, entry.name, options);
      EXPECT_GE(found.peak, found.proved_bound);
      EXPECT_GE(found.proved_bound, lower_bound_bytes(trace, 1));
      EXPECT_LE(best.proved_bound, found.peak);
      std::cout << file << ' ' << entry.name << ": peak " << found.peak << ", gap "
                << 100 * found.gap() << " %, proved bound " << found.proved_bound << ", "
                << found.seconds << " s\n";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("too large for this planner"), std::string::npos)
          << error.what();
    }
  }
}

TEST(TraceFiles, ArePlannedByEveryPlanner) {
  const char* directory = std::getenv("SKYLINE_TRACES");
  if (directory == nullptr) GTEST_SKIP() << "SKYLINE_TRACES names no directory of trace files";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".csv") continue;
    std::ifstream in(entry.path());
    try {
      plan_by_all(entry.path().filename(), read_trace_csv(in, entry.path().string()));
      ++files;
    } catch (const TraceError& error) {
      std::cout << "no trace of blocks: " << error.what() << '\n';
    }
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace skyline
