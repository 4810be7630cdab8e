#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "memory/plan.h"

namespace skyline {

// What the folder of a run says about its memory and time.
struct StoredRun {
  std::filesystem::path folder;                 // as given
  std::map<std::string, std::string> settings;  // its arguments by key, values as in JSON
  Trace trace;                                  // of the step that the run recorded
  Plan plan;                                    // of that step
  std::optional<std::uint64_t> resident_bytes;  // unknown without graph.json

  // From its log; resident bytes included.
  std::int64_t steps = 0;
  std::optional<std::uint64_t> most_reserved_bytes, last_reserved_bytes;  // after a step
  std::optional<double> step_seconds_median;                              // without warm-up

  const std::string& setting(const std::string& key) const;  // "" if there is none
  std::uint64_t requested_bytes() const;  // the most at one tick, as the program asked
};

// Reads a run's folder. Skips damaged lines of its log. Throws UsageError, which names the folder,
// if it holds no run or the run recorded no step.
StoredRun load_run(const std::filesystem::path& folder);

}  // namespace skyline
