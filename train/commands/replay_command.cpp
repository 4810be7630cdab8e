#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>

#include "memory/errors.h"
#include "memory/formats/open_events.h"
#include "train/cli/option_types.h"
#include "train/commands/commands.h"
#include "train/lab/replay_all.h"
#include "train/lab/replay_outputs.h"
#include "train/lab/replay_report.h"
#include "train/options/allocator_options.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

constexpr const char* kAll = "all";
constexpr double kDay = 86400;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Arguments {
  std::filesystem::path events;
  std::string allocator, format = "auto";
  std::vector<std::string> allocators = {kAll};
  CLI::Option* one = nullptr;
  CLI::Option* several = nullptr;
  std::int64_t plan_limit = 100'000;
  std::optional<std::int64_t> device;
  bool strict = false;
  ReplayOptions options;
  ReplayFiles files;
};

// Names without aliases, each once; "all" is the whole table and the session.
std::vector<std::string> chosen_allocators(const Arguments& arguments) {
  if (was_given(arguments.one) && was_given(arguments.several)) {
    throw UsageError("--allocator is for one and --allocators for several: give one of them");
  }
  if (was_given(arguments.one)) return {canonical_allocator_name(arguments.allocator)};
  std::vector<std::string> names;
  for (const std::string& given : arguments.allocators) {
    for (const std::string& name :
         given == kAll ? allocator_names() : std::vector{canonical_allocator_name(given)}) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

ReplayOptions replay_options(const Arguments& arguments) {
  ReplayOptions options = arguments.options;
  options.allocators = chosen_allocators(arguments);
  options.plan_limit_blocks = static_cast<std::uint64_t>(arguments.plan_limit);
  if (arguments.files.of_one_allocator() && options.allocators.size() != 1) {
    throw UsageError(fmt::format(
        "--write-rmm, --write-snapshot and --write-chrome-trace show the replay under one "
        "allocator, got {}: choose it with --allocator",
        options.allocators.size()));
  }
  return options;
}

OpenOptions open_options(const Arguments& arguments) {
  const auto names = event_format_names();
  OpenOptions options;
  options.format =
      static_cast<EventFormat>(std::ranges::find(names, arguments.format) - names.begin());
  if (arguments.device) options.device = static_cast<std::size_t>(*arguments.device);
  return options;
}

// Nothing is left of the files when the events turn out to be broken.
CommandResult replay_stream(std::istream& in, const std::string& source, const Arguments& arguments,
                            Console& console) {
  const ReplayOptions options = replay_options(arguments);
  const OpenedEvents opened = open_events(in, source, open_options(arguments));
  if (!opened.note.empty()) console.warn(opened.note);
  ReplayOutputs outputs(arguments.files, opened.reader->tagged());
  const ReplayResult result = replay_events(*opened.reader, options, &outputs);
  outputs.commit();
  const bool failed = arguments.strict && result.ran_out_of_memory();
  return {.json = replay_json(result, options.allocators.size() == 1),
          .text = replay_text(result),
          .exit_code = failed ? 1 : 0};
}

CommandResult run(const Arguments& arguments, Console& console) {
  try {
    if (arguments.events == "-") {
      return replay_stream(std::cin, "standard input", arguments, console);
    }
    std::ifstream file(arguments.events, std::ios::binary);
    if (!file) {
      throw UsageError(
          fmt::format("cannot read {}: {}", arguments.events.string(), std::strerror(errno)));
    }
    return replay_stream(file, arguments.events.string(), arguments, console);
  } catch (const TraceError& error) {
    throw UsageError(error.what());
  }
}

void add_outputs(CLI::App& app, ReplayFiles& files) {
  add_path(app, "--write-events", files.events, "Write the recording as an event trace",
           "FILE.csv");
  add_path(app, "--write-trace", files.trace,
           "Write all its blocks as one MiniMalloc trace, for 'skyline plan'", "FILE.csv");
  add_path(app, "--write-rmm", files.rmm, "Write the replay as RMM's log", "FILE.csv");
  add_path(app, "--write-snapshot", files.snapshot,
           "Write the replay as a PyTorch memory snapshot, for pytorch.org/memory_viz",
           "FILE.pickle");
  add_path(app, "--write-chrome-trace", files.chrome_trace,
           "Write the replay as Chrome trace events, for Perfetto", "FILE.json");
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const PlannerEntry& entry : planners()) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> format_names() {
  return {event_format_names().begin(), event_format_names().end()};
}

}  // namespace

CommandRun declare_replay(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  require(add_path(app, "EVENTS", arguments->events,
                   "A recording: an event trace (CSV event,id,bytes), RMM's log, a PyTorch memory "
                   "snapshot or a MiniMalloc trace; - reads standard input"));
  std::vector<std::string> names = allocator_names_and_aliases();
  arguments->one = add_choice(app, "--allocator", arguments->allocator, names, "allocator",
                              "Replay under this one");
  names.insert(names.begin(), kAll);
  arguments->several = add_choices(app, "--allocators", arguments->allocators, names, "allocator",
                                   "Replay under each of these");
  add_bytes(app, "--capacity", arguments->options.capacity_bytes,
            "Memory of each allocator's device; unset: no limit");
  add_flag(app, "--strict", arguments->strict, "Exit with 1 when a request was refused");
  add_choice(app, "--format", arguments->format, format_names(), "format", "Of EVENTS");
  add_integer(app, "--device", arguments->device, 0, kMost,
              "Of a snapshot of several devices; unset: the first that was used");
  add_choice(app, "--planner", arguments->options.planner, planner_names(), "planner",
             "Of the plan, and of the allocator planned");
  add_integer(app, "--plan-limit", arguments->plan_limit, 0, kMost,
              "Plan traces of up to so many blocks, which a plan needs in memory; 0: no plan");
  add_number(app, "--time-limit", arguments->options.time_limit_seconds, 0, kDay,
             "Seconds for the plan; unset: a fixed amount of work, repeatable");
  add_allocator_options(app, arguments->options.allocator_options);
  add_outputs(app, arguments->files);
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
