#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/byte_reader.h"
#include "data/host.h"
#include "memory/errors.h"
#include "memory/formats/open_events.h"
#include "train/commands/commands.h"
#include "train/lab/replay.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

constexpr const char* kAll = "all";
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct ReplayArguments {
  std::vector<std::filesystem::path> events;
  std::string allocator, format = "auto";
  std::vector<std::string> allocators = {kAll};
  bool one_given = false, several_given = false;
  std::int64_t plan_limit = 100'000;
  std::optional<std::int64_t> device;
  bool strict = false, csv = false;
  bool own_settings = false;  // not those of the recordings
  ReplayOptions options;
  ReplayFiles files;
};

// Resolves aliases and "all", which means every allocator, and drops duplicates.
std::vector<std::string> chosen_allocators(const ReplayArguments& arguments) {
  if (arguments.one_given && arguments.several_given) {
    throw UsageError("--allocator takes one and --allocators several: give one of them");
  }
  if (arguments.one_given) return {canonical_allocator_name(arguments.allocator)};
  std::vector<std::string> names;
  for (const std::string& given : arguments.allocators) {
    for (const std::string& name :
         given == kAll ? allocator_names() : std::vector{canonical_allocator_name(given)}) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

ReplayOptions replay_options(const ReplayArguments& arguments) {
  ReplayOptions options = arguments.options;
  options.allocators = chosen_allocators(arguments);
  options.plan_limit_blocks = static_cast<std::uint64_t>(arguments.plan_limit);
  if (arguments.files.of_one_allocator() && options.allocators.size() != 1) {
    throw UsageError(
        fmt::format("--write-rmm and --write-chrome-trace show the replay under one "
                    "allocator, got {}: choose it with --allocator",
                    options.allocators.size()));
  }
  return options;
}

OpenOptions open_options(const ReplayArguments& arguments) {
  const auto names = event_format_names();
  OpenOptions options;
  options.format =
      static_cast<EventFormat>(std::ranges::find(names, arguments.format) - names.begin());
  if (arguments.device) options.device = static_cast<std::size_t>(*arguments.device);
  return options;
}

// Refuses options of a plan where none is made.
void check_plan_options(const OptionList& list, const ReplayArguments& arguments) {
  if (arguments.plan_limit > 0) return;
  if (list.given("--time-limit")) {
    throw UsageError("--time-limit is for the plan, which --plan-limit 0 leaves out");
  }
  const auto allocators = chosen_allocators(arguments);
  if (list.given("--planner") &&
      std::ranges::find(allocators, kPlannedAllocator) == allocators.end()) {
    throw UsageError(
        "--planner is for the plan, which --plan-limit 0 leaves out, and for the allocator "
        "planned, which is not replayed");
  }
}

// Refuses what several recordings cannot share.
void check_recordings(const ReplayArguments& arguments) {
  if (arguments.events.size() == 1) return;
  if (!arguments.files.none()) {
    throw UsageError(fmt::format("--write-* writes one recording's file, got {} recordings",
                                 arguments.events.size()));
  }
  if (std::ranges::count(arguments.events, "-") > 1) {
    throw UsageError("standard input can be read once: give - once");
  }
}

// Gives `caching` the settings that a recording holds, except where the user gave an option.
// Returns what it took in words; empty if those are the defaults.
std::string take_recorded(const OptionList& given, const CachingOptions& recorded,
                          ReplayOptions& options) {
  nlohmann::ordered_json held, defaults;
  write_allocator_options({.caching = recorded}, held);
  write_allocator_options({}, defaults);
  OptionList list;
  add_allocator_options(list, options.allocator_options);
  std::string text;
  for (const Option& option : list.options()) {
    const std::string key = option.key();
    if (given.given(option.name()) || held[key] == defaults[key]) continue;
    option.value.read(held[key]);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, held[key].dump());
  }
  const bool collects = options.allocator_options.caching.garbage_collection_threshold > 0;
  return text + (collects && !options.capacity_bytes ? " (of no effect without --capacity)" : "");
}

std::string gunzipped(const std::filesystem::path& path) {
  ByteReader reader = ByteReader::open(path);
  std::string text;
  std::vector<std::uint8_t> piece(1 << 16);
  while (const std::size_t got = reader.read(piece)) {
    text.append(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return text;
}

// Writes no file if the events turn out to be broken.
ReplayResult replay_stream(std::istream& in, const std::string& source, const OptionList& list,
                           const ReplayArguments& arguments, Console& console) {
  ReplayOptions options = replay_options(arguments);
  options.warn = [&console](const std::string& text) { console.warn(text); };
  const OpenedEvents opened = open_events(in, source, open_options(arguments));
  std::string settings;
  const auto recorded = opened.reader->recorded_options();
  if (recorded && !arguments.own_settings &&
      std::ranges::find(options.allocators, "caching") != options.allocators.end()) {
    settings = take_recorded(list, *recorded, options);
  }
  if (arguments.device && opened.format != EventFormat::kSnapshot) {
    throw UsageError(
        fmt::format("--device chooses a device of a PyTorch snapshot; {} is of the format {}",
                    source, event_format_names()[static_cast<std::size_t>(opened.format)]));
  }
  ReplayOutputs outputs(arguments.files, opened.reader->tagged());
  ReplayResult result = replay_events(*opened.reader, options, &outputs);
  result.recorded_settings = std::move(settings);
  outputs.commit();
  return result;
}

NamedReplay replay_file(const std::filesystem::path& events, const OptionList& list,
                        const ReplayArguments& arguments, Console& console) {
  const std::string name = events == "-" ? "standard input" : events.string();
  if (events == "-") return {name, replay_stream(std::cin, name, list, arguments, console)};
  std::ifstream file(events, std::ios::binary);
  if (!file) throw UsageError(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  const bool gzip = file.get() == 0x1f && file.get() == 0x8b;
  if (!gzip) {
    file.clear();
    file.seekg(0);
    return {name, replay_stream(file, name, list, arguments, console)};
  }
  std::istringstream text(gunzipped(events));
  return {name, replay_stream(text, name, list, arguments, console)};
}

CommandResult run(const OptionList& list, ReplayArguments arguments, Console& console) {
  arguments.one_given = list.given("--allocator");
  arguments.several_given = list.given("--allocators");
  check_given_for(list, chosen_allocators(arguments));
  list.check_rules();
  check_plan_options(list, arguments);
  check_recordings(arguments);
  Replays replays{.traces = {}, .one_allocator = chosen_allocators(arguments).size() == 1};
  for (const std::filesystem::path& events : arguments.events) {
    try {
      replays.traces.push_back(replay_file(events, list, arguments, console));
    } catch (const TraceError& error) {
      throw UsageError(error.what());
    } catch (const DataError& error) {
      throw UsageError(error.what());
    }
  }
  const bool failed =
      arguments.strict && std::ranges::any_of(replays.traces, [](const auto& replay) {
        return replay.result.ran_out_of_memory();
      });
  return told(replays, arguments.csv ? replays_csv(replays.traces) : replays_text(replays.traces),
              failed ? 1 : 0);
}

void add_outputs(OptionList& list, ReplayFiles& files) {
  list.add("--write-events", path(files.events, "FILE.csv"),
           "Write the recording as an event trace");
  list.add("--write-trace", path(files.trace, "FILE.csv"),
           "Write all its blocks as one MiniMalloc trace, for 'skyline plan'");
  list.add("--write-rmm", path(files.rmm, "FILE.csv"), "Write the replay as RMM's log");
  list.add("--write-chrome-trace", path(files.chrome_trace, "FILE.json"),
           "Write the replay as Chrome trace events, for Perfetto");
}

std::vector<std::string> format_names() {
  return {event_format_names().begin(), event_format_names().end()};
}

}  // namespace

CommandRun declare_replay(OptionList& list) {
  const auto arguments = std::make_shared<ReplayArguments>();
  ReplayOptions& options = arguments->options;
  list.add("EVENTS", paths(arguments->events),
           "Recordings: event traces (CSV event,id,bytes), RMM's logs, PyTorch memory snapshots or "
           "MiniMalloc traces; - reads standard input",
           kRequired);
  std::vector<std::string> names = replayed_names();
  list.add("--allocator", choice(arguments->allocator, names, "allocator"),
           "Replay on this allocator");
  names.insert(names.begin(), kAll);
  list.add("--allocators", choices(arguments->allocators, names, "allocator"),
           "Replay on each of these allocators");
  list.add("--capacity", bytes(options.capacity_bytes),
           "Memory of each allocator's device (default: no limit)");
  list.add("--strict", flag(arguments->strict), "Exit with 1 if an allocator runs out of memory");
  list.add("--format", choice(arguments->format, format_names(), "format"), "Format of EVENTS");
  list.add("--device", integer(arguments->device, 0, kMost),
           "Device of a snapshot of several (default: the first that was used)");
  add_planner_option(list, options.planner);
  list.add("--plan-limit", integer(arguments->plan_limit, 0, kMost),
           "Plan traces of up to N blocks; a plan holds all of them in memory (0: no plan)");
  list.add("--time-limit", number(options.time_limit_seconds, 0, kDay),
           "Seconds for the plan (default: a fixed amount of work, repeatable)");
  add_allocator_options(list, options.allocator_options);
  list.add("--no-recorded-settings", flag(arguments->own_settings),
           "caching: do not use the settings that a snapshot holds", kCachingOnly);
  list.add("--csv", flag(arguments->csv),
           "Print CSV: a row for each recording and allocator, and for each plan");
  add_outputs(list, arguments->files);
  list.prints(keys<Replays>);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
