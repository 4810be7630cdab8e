// `skyline run` tells the library that it preloads its options; the library answers with figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// The environment's variable with the options below as lines "name=value". Without it, the library
// uses the defaults.
inline constexpr const char* kRunVariable = "SKYLINE_RUN";

struct RunOptions {
  std::size_t threshold_bytes = std::size_t{64} << 10;  // smaller requests are not ours
  std::string allocator = "planned";
  std::uint64_t before = 0;   // steps that are left to the C library
  bool period = true;         // finds steps that are not marked
  std::uint64_t process = 0;  // whose memory is served, whatever it executes; 0: everybody's
  // Files; empty: none.
  std::filesystem::path record;  // all requests, as memory/formats/csv/event_csv.h describes it
  std::filesystem::path plan;    // read: the step of an earlier run
  std::filesystem::path write_trace;  // the planned step, for `plan`
  std::filesystem::path report;       // a line of JSON, then text for people

  // True when there is no need to wait for steps.
  bool at_once() const { return allocator != "planned" || !record.empty() || !plan.empty(); }

  std::string text() const;
  // The inverse. Throws std::invalid_argument.
  static RunOptions read(std::string_view text);
};

// Who served a step.
enum class Server : std::uint8_t { kLibrary, kWarmUp, kPlan };

// Sums over the steps that one server served wholly.
struct ServedSteps {
  std::string_view server;
  std::uint64_t steps = 0;
  double seconds = 0, system_seconds = 0;
  std::uint64_t page_faults = 0;
  std::optional<std::uint64_t> held_bytes = {};  // the most that it held for large blocks
};

struct RunReport {
  std::string command;
  std::array<ServedSteps, 3> served = {{{"c_library"}, {"warm_up"}, {"plan"}}};  // by Server
  std::uint64_t steps = 0;                                                       // marked or found
  std::optional<std::uint64_t> period = {};                                      // requests
  std::uint64_t requests = 0, planned_requests = 0, planned_blocks = 0, deviations = 0, plans = 0;
  std::optional<std::uint64_t> plan_bytes = {}, bound_bytes = {};  // of the last plan
  double planning_seconds = 0;
  // Large requests that were left to the C library.
  std::uint64_t other_threads = 0, large_alignment = 0, zeroed = 0, refused = 0;
  std::uint64_t peak_resident_bytes = 0;  // of the process
  std::string problem = {};               // why planning stopped; empty: it did not

  std::string json() const;  // one line: an object of figures()
  std::string text() const;
};

struct RunFigure {
  std::string name;
  std::string_view unit;  // as `skyline help json` says it
  std::string_view meaning;
  std::string value;  // as JSON
};
std::vector<RunFigure> figures(const RunReport& report);

}  // namespace skyline
