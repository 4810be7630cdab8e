#include "train/lab/replay.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "memory/errors.h"
#include "memory/formats/chrome_trace.h"
#include "memory/formats/csv/rmm_log.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/sink.h"
#include "memory/replay/recorded_run.h"
#include "memory/session/session.h"
#include "memory/solvers/solvers.h"
#include "train/cli/usage_error.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

Sink sink_of(AtomicFile& file) {
  return [&file](std::string_view bytes) { file.write(bytes); };
}

void check_paths_differ(const ReplayFiles& files) {
  std::vector<std::filesystem::path> paths;
  for (const auto& path : {files.events, files.trace, files.rmm, files.chrome_trace}) {
    if (path.empty()) continue;
    const std::filesystem::path plain = std::filesystem::absolute(path).lexically_normal();
    if (std::ranges::find(paths, plain) != paths.end()) {
      throw UsageError(fmt::format("two outputs are to be written to {}", path.string()));
    }
    paths.push_back(plain);
  }
}

}  // namespace

bool ReplayFiles::of_one_allocator() const { return !rmm.empty() || !chrome_trace.empty(); }

bool ReplayFiles::none() const { return events.empty() && trace.empty() && !of_one_allocator(); }

ReplayOutputs::ReplayOutputs(const ReplayFiles& files, bool tagged) : files_(files) {
  check_paths_differ(files);
  if (!files.events.empty()) events_.emplace(sink_of(open(files.events)), tagged);
  if (!files.trace.empty()) {
    trace_.emplace(std::numeric_limits<std::size_t>::max(), TraceBuilder::Keep::kNames);
  }
}

ReplayOutputs::~ReplayOutputs() = default;

AtomicFile& ReplayOutputs::open(const std::filesystem::path& path) {
  return *open_.emplace_back(std::make_unique<AtomicFile>(path));
}

std::vector<ReplayObserver*> ReplayOutputs::observers(const std::string& name,
                                                      const Allocator& allocator) {
  if (!files_.rmm.empty()) {
    observers_.push_back(std::make_unique<RmmLogWriter>(sink_of(open(files_.rmm))));
  }
  if (!files_.chrome_trace.empty()) {
    observers_.push_back(
        std::make_unique<ChromeTraceWriter>(sink_of(open(files_.chrome_trace)), name, allocator));
  }
  std::vector<ReplayObserver*> all;
  for (const auto& observer : observers_) all.push_back(observer.get());
  return all;
}

void ReplayOutputs::apply(const LiveEvents& events) {
  if (events_) events_->write(events.event());
  if (trace_) trace_->apply(events);
}

void ReplayOutputs::finish(const LiveEvents& events) {
  if (events_) events_->finish();
  if (trace_) write_trace(events);
}

void ReplayOutputs::write_trace(const LiveEvents& events) {
  write_trace_csv(sink_of(open(files_.trace)), trace_->take(events));
}

void ReplayOutputs::commit() {
  for (const auto& file : open_) file->commit();
}

namespace {

constexpr const char* kCaching = "caching";

// An allocator and the replay through it.
class AllocatorReplay {
 public:
  AllocatorReplay(const std::string& name, const ReplayOptions& options, ReplayOutputs* outputs)
      : allocator_({.allocator = name,
                    .allocator_options = options.allocator_options,
                    .planner = options.planner,
                    .planner_table = all_planners(),
                    .capacity_bytes = options.capacity_bytes}),
        replay_(name, allocator_.get(), allocator_.device(),
                outputs == nullptr ? std::vector<ReplayObserver*>{}
                                   : outputs->observers(name, allocator_.get())) {}

  EventReplay& replay() { return replay_; }

  ReplayRow row(std::optional<std::uint64_t> lower_bound) const {
    const std::vector<Segment> segments = allocator_.get().segments();
    ReplayRow row{.figures = replay_.figures(), .lower_bound = lower_bound};
    if (!segments.empty() || allocator_.device().statistics().reserved_bytes == 0) {
      row.segments = segments.size();
    }
    if (allocator_.session() != nullptr) {
      const SessionStatistics totals = allocator_.session()->session_statistics();
      const bool switched = totals.planned_steps > 0;
      if (switched) row.peak_reserved_bytes_since_switch = totals.peak_reserved_bytes_since_switch;
    }
    return row;
  }

 private:
  ReplayedAllocator allocator_;
  EventReplay replay_;
};

Plan plan_by(const std::string& planner, const Trace& trace, const ReplayOptions& options) {
  return plan(trace, planner, {.time_limit_seconds = options.time_limit_seconds}, all_planners());
}

// A plan of the whole trace, or why there is none.
ReplayPlan plan_of(const Trace& trace, const ReplayOptions& options) {
  try {
    return {.plan = plan_by(options.planner, trace, options), .left_out = {}};
  } catch (const TraceError& error) {  // the plan would end above 2^63 − 1
    return {.plan = {}, .left_out = error.what()};
  } catch (const std::invalid_argument& error) {  // too large for that planner
    return {.plan = {}, .left_out = error.what()};
  }
}

// Returns why the trace is not planned; empty if it can be.
std::string left_out(const TraceBuilder& collected, const EventDemand& demand,
                     const ReplayOptions& options) {
  if (options.plan_limit_blocks == 0) return "its limit of blocks is 0";
  if (collected.passed_limit()) {
    return fmt::format("{} blocks are more than the limit of {} for a plan", demand.blocks(),
                       options.plan_limit_blocks);
  }
  return demand.lower_bound() ? "" : "more than 2^63 - 1 bytes are alive at once";
}

// Serves the trace from its plan, as `planned` serves each step after its warm-up. Returns nothing
// if the device cannot hold the plan.
std::optional<std::size_t> served_by_plan(const Trace& trace, const Plan& plan,
                                          const ReplayOptions& options) {
  const AllocatorUse use = replay_run(run_of(trace), trace,
                                      {.allocator = std::string(kPlannedAllocator),
                                       .step_planner = [&](const Trace&) { return plan; },
                                       .capacity_bytes = options.capacity_bytes});
  return use.fits ? std::optional(use.peak_reserved_bytes) : std::nullopt;
}

// Plans the whole trace. If `planned` saw a single step, its plan serves it once more.
void add_plan(TraceBuilder& collected, const LiveEvents& events, const EventDemand& demand,
              const ReplayOptions& options, ReplayResult& result) {
  result.plan.left_out = left_out(collected, demand, options);
  if (!result.plan.left_out.empty()) return;
  Trace trace = collected.take(events);
  std::erase_if(trace.blocks, [](const TraceBlock& block) { return block.bytes == 0; });
  result.plan = plan_of(trace, options);
  if (!result.plan.plan || trace.size() == 0) return;
  for (ReplayRow& row : result.rows) {
    const std::string& name = row.figures.allocator;
    if (!is_planned(name) || result.steps > 1) continue;
    const Plan& plan = *result.plan.plan;
    row.peak_reserved_bytes_since_switch = served_by_plan(
        trace, name == kPlannedAllocator ? plan : plan_by(name, trace, options), options);
  }
}

// `caching` with other options, which may serve what it refuses with those given.
struct Cure {
  std::string option;
  std::unique_ptr<AllocatorReplay> replay;
};

std::vector<Cure> cures_of(const ReplayOptions& options) {
  std::vector<Cure> cures;
  if (!options.capacity_bytes ||
      std::ranges::find(options.allocators, kCaching) == options.allocators.end()) {
    return cures;
  }
  const CachingOptions& given = options.allocator_options.caching;
  const auto add = [&](std::string option, auto change) {
    ReplayOptions changed = options;
    change(changed.allocator_options.caching);
    if (changed.allocator_options == options.allocator_options) return;
    cures.push_back(
        {std::move(option), std::make_unique<AllocatorReplay>(kCaching, changed, nullptr)});
  };
  add("--expandable-segments", [](CachingOptions& caching) { caching.expandable_segments = true; });
  if (!given.max_split_bytes) {
    for (const std::uint64_t mib : {32, 128, 512}) {
      add(fmt::format("--max-split-size {}MiB", mib),
          [mib](CachingOptions& caching) { caching.max_split_bytes = mib << 20; });
    }
  }
  if (given.roundup_power2_divisions == RoundupDivisions()) {
    add("--roundup-power2-divisions 4 (fewer sizes)",
        [](CachingOptions& caching) { caching.roundup_power2_divisions = 4; });
  }
  return cures;
}

// Returns the options that help; none if nothing was refused.
std::vector<std::string> cures_for(const ReplayFigures& figures, const std::vector<Cure>& cures) {
  std::vector<std::string> options;
  for (const Cure& cure : cures) {
    const bool helps = figures.refused > 0 && cure.replay->replay().figures().refused == 0;
    if (helps) options.push_back(cure.option);
  }
  return options;
}

std::size_t unit_of(const std::string& allocator) {
  const auto table = allocator_table();
  const auto found = std::ranges::find(table, allocator, &AllocatorEntry::name);
  return found == table.end() ? kAlignmentBytes : found->unit_bytes;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Says who merges streams and private pools; empty if nobody does.
std::string merging_of(const ReplayResult& result) {
  std::vector<std::string> merging;
  for (const ReplayRow& row : result.rows) {
    if (row.figures.merges_sources) merging.push_back(row.figures.allocator);
  }
  if (result.plan.plan) merging.emplace_back("the plan");
  if (merging.empty() || (result.streams < 2 && result.private_pools == 0)) return {};
  return fmt::format("the recording has {} and {}; merged by {}", counted(result.streams, "stream"),
                     counted(result.private_pools, "private pool"), fmt::join(merging, ", "));
}

// Warns before a long step fills the memory with slots of network-wise.
class SlotWatch {
 public:
  explicit SlotWatch(const ReplayOptions& options)
      : warn_(options.warn), watches_(warn_ && keeps_slots(options.allocators)) {}

  void apply(const LiveEvents& events) {
    if (!watches_) return;
    if (events.event().kind == AllocationEvent::Kind::kStep) requests_ = 0;
    requests_ += events.event().kind == AllocationEvent::Kind::kAllocation;
    if (requests_ <= kSlotsWithoutWarning) return;
    watches_ = false;
    warn_(fmt::format(
        "network-wise keeps a slot for each request of a step, {} so far and about {} MB for each "
        "further million; --allocators without it needs memory for live blocks only",
        kSlotsWithoutWarning, kMegabytesPerMillion));
  }

 private:
  static constexpr int kMegabytesPerMillion = 135;  // measured, with the simulated device's books

  static bool keeps_slots(const std::vector<std::string>& allocators) {
    return std::ranges::find(allocators, "network-wise") != allocators.end();
  }

  const std::function<void(const std::string&)>& warn_;
  bool watches_;
  std::uint64_t requests_ = 0;
};

}  // namespace

bool ReplayResult::ran_out_of_memory() const {
  return std::ranges::any_of(rows, [](const ReplayRow& row) { return row.figures.refused > 0; });
}

ReplayResult replay_events(EventReader& reader, const ReplayOptions& options,
                           ReplayOutputs* outputs) {
  std::vector<std::unique_ptr<AllocatorReplay>> replays;
  for (const std::string& name : options.allocators) {
    replays.push_back(std::make_unique<AllocatorReplay>(name, options, outputs));
  }
  std::vector<Cure> cures = cures_of(options);
  LiveEvents events(reader);
  std::map<std::size_t, EventDemand> demands;  // by the unit of allocators
  const EventDemand& demand = demands[kAlignmentBytes];
  for (const std::string& name : options.allocators) {
    demands.emplace(unit_of(name), EventDemand(unit_of(name)));
  }
  TraceBuilder collected(options.plan_limit_blocks);
  SlotWatch slots(options);
  while (events.next()) {
    slots.apply(events);
    for (auto& [unit, each] : demands) each.apply(events);
    collected.apply(events);
    if (outputs != nullptr) outputs->apply(events);
    for (const auto& each : replays) each->replay().apply(events);
    for (const Cure& each : cures) each.replay->replay().apply(events);
  }
  ReplayResult result{.rows = {},
                      .events = static_cast<std::uint64_t>(events.ticks()),
                      .steps = events.steps(),
                      .blocks = demand.blocks(),
                      .peak_live_blocks = demand.peak_live_blocks(),
                      .streams = events.streams().size(),
                      .private_pools = events.pools().size() - 1,
                      .returns = events.returns(),
                      .unknown_frees = events.unknown_frees(),
                      .lower_bound = demand.lower_bound(),
                      .capacity_bytes = options.capacity_bytes,
                      .plan = {}};
  for (const Cure& each : cures) each.replay->replay().finish(events);
  for (const auto& each : replays) {
    each->replay().finish(events);
    const std::string& name = each->replay().figures().allocator;
    result.rows.push_back(each->row(demands.at(unit_of(name)).lower_bound()));
    if (name == kCaching) result.rows.back().cures = cures_for(each->replay().figures(), cures);
  }
  if (outputs != nullptr) outputs->finish(events);
  add_plan(collected, events, demand, options, result);
  for (const std::string& warning : {reader.note(), merging_of(result)}) {
    if (!warning.empty() && options.warn) options.warn(warning);
  }
  return result;
}

}  // namespace skyline
