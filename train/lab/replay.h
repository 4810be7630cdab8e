#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocators/allocators.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/planners/registry.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_events.h"
#include "train/checkpoints/files.h"
#include "train/cli/figures.h"

namespace skyline {

class ReplayOutputs;

inline constexpr std::uint64_t kSlotsWithoutWarning = 1 << 20;

// Options for replaying a recorded event trace.
struct ReplayOptions {
  std::vector<std::string> allocators = {};  // full names, no aliases; see is_planned()
  AllocatorOptions allocator_options = {};
  std::optional<std::uint64_t> capacity_bytes = {};  // of each allocator's own device
  std::string planner{kDefaultPlanner};              // for the plan and for `planned`
  std::uint64_t plan_limit_blocks = 100'000;         // longer traces are not planned; 0: never plan
  std::optional<double> time_limit_seconds = {};     // for making the plan
  // Called once before `network-wise` keeps more than kSlotsWithoutWarning slots, and once if
  // allocators merge streams or private pools.
  std::function<void(const std::string&)> warn = {};
};

// Results of one allocator.
struct ReplayRow {
  ReplayFigures figures;
  // Bytes, rounded to the allocator's own unit; empty: above 2^63 − 1.
  std::optional<std::uint64_t> lower_bound;
  std::optional<std::size_t> segments;  // at the end; empty if the allocator does not report it
  // Only for `planned`: the peak while its plan serves, without its warm-up. A recording of a
  // single step is served once more, as the step that follows the warm-up. Empty if no plan served.
  std::optional<std::size_t> peak_reserved_bytes_since_switch;
  // Only for `caching` when it refused requests: the options with which it serves all of them.
  std::vector<std::string> cures = {};
};

// A plan of the whole trace, with all blocks known in advance.
struct ReplayPlan {
  std::optional<Plan> plan;
  std::string left_out;  // why there is no plan
};

struct ReplayResult {
  std::vector<ReplayRow> rows;  // in the order of the options
  std::uint64_t events = 0;     // allocations and frees
  std::uint64_t steps = 0, blocks = 0, peak_live_blocks = 0;
  std::uint64_t streams = 0, private_pools = 0;  // on which blocks are requested
  std::uint64_t returns = 0;                     // of cached memory, by the program
  std::uint64_t unknown_frees = 0;               // frees of blocks allocated before the recording
  std::optional<std::uint64_t> lower_bound;      // bytes, rounded to 512; empty: above 2^63 − 1
  std::optional<std::uint64_t> capacity_bytes;   // as in the options
  ReplayPlan plan;
  std::string recorded_settings = {};  // of `caching` that the recording holds; empty: none

  bool ran_out_of_memory() const;
};

// Reads the events once and sends each through every allocator and to `outputs` (may be null),
// which this function finishes but does not commit. Each allocator has its own simulated device.
// Memory: the live blocks, up to plan_limit_blocks blocks for the plan, and the slots of
// `network-wise`: it reuses nothing inside a step and must know each slot's size when the next step
// begins, so it cannot hold fewer. Everything else is constant. With a capacity, `caching` is also
// replayed with other options, to find cures for refusals.
// Throws TraceError for inconsistent events, std::invalid_argument for an unknown allocator.
ReplayResult replay_events(EventReader& reader, const ReplayOptions& options,
                           ReplayOutputs* outputs = nullptr);

// Files to write during a replay; files with an empty path are not written.
struct ReplayFiles {
  std::filesystem::path events;        // the same events as an event trace
  std::filesystem::path trace;         // MiniMalloc's CSV: all blocks as one packing problem
  std::filesystem::path rmm;           // the replay as RMM's log
  std::filesystem::path chrome_trace;  // the replay as Chrome trace events

  // True if a file depends on the allocator, so only one allocator can be replayed.
  bool of_one_allocator() const;
  bool none() const;
};

// Writes the files of a replay. Each is streamed to a temporary file until commit(); without it, no
// file remains. Only the trace is collected in memory.
class ReplayOutputs {
 public:
  // `tagged`: the events may have tags. Throws WriteError, and UsageError when two paths are equal.
  ReplayOutputs(const ReplayFiles& files, bool tagged);
  ~ReplayOutputs();

  // Returns the observers for a replay through `allocator`. The outputs own them; the allocator
  // must live until after finish().
  std::vector<ReplayObserver*> observers(const std::string& name, const Allocator& allocator);

  void apply(const LiveEvents& events);
  // Call this after the last event, when the replay has finished.
  void finish(const LiveEvents& events);
  // Moves all files to their final paths. Throws WriteError.
  void commit();

 private:
  AtomicFile& open(const std::filesystem::path& path);
  void write_trace(const LiveEvents& events);

  ReplayFiles files_;
  std::vector<std::unique_ptr<AtomicFile>> open_;
  std::vector<std::unique_ptr<ReplayObserver>> observers_;
  std::optional<EventCsvWriter> events_;
  std::optional<TraceBuilder> trace_;
};

// A trace by the name that the user gave, and its replay.
struct NamedReplay {
  std::string trace;
  ReplayResult result;
};

// Replays of one trace or of several. With one allocator, its figures are beside those of the
// trace; with several, they are under "allocators" by name.
struct Replays {
  std::vector<NamedReplay> traces;
  bool one_allocator = false;
};
Rows<Replays> rows(const Replays*);

// Returns a table with one row per allocator and one for the plan, followed by the reasons for
// refused requests.
std::string replay_text(const ReplayResult& result);
// The same for one replay or several; several are titled.
std::string replays_text(const std::vector<NamedReplay>& replays);

// Returns CSV with a header and a row for each trace and allocator, and one for each plan, whose
// allocator is "plan". Columns: trace, the JSON's keys for an allocator that are numbers, and
// lower_bound. Unknown figures are empty.
std::string replays_csv(const std::vector<NamedReplay>& replays);

}  // namespace skyline
