#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/step_recorder.h"
#include "memory/step_graph.h"

namespace skyline {

// Bytes alive while each op runs, under one strategy of the MXNet note.
struct StrategyCurve {
  std::string name;  // "none", "in place", "sharing", "both"
  std::vector<std::uint64_t> bytes;
};

// Why each block of a step is alive, as pages tell it.
struct StepStory {
  struct Op {
    std::string name;  // "conv2d of conv1"
    Tick begins = 0;
    double seconds = 0;  // to run it again
  };
  std::vector<Op> ops;               // in the order in which they run
  std::vector<BlockUse> uses;        // of the blocks of the trace
  std::vector<std::string> reasons;  // why a block was not written in place; empty: a workspace
  std::vector<StrategyCurve> strategies;
  std::string seconds_source;  // "by a model: 150 GFLOP/s, 10 GB/s"
};

// How long it takes to run each op of a step again, and where that is from.
struct OpSeconds {
  std::vector<double> of;
  std::string source;
};

// True if the blocks live during the same ticks; their bytes may differ.
bool same_lifetimes(const Trace& a, const Trace& b);

// Returns the story of a recorded step whose blocks live as those of `trace` do; nothing of another
// trace. Bytes are those of the trace, which may have room for several steps, rounded as allocators
// round them. O(size).
std::optional<StepStory> step_story(const RecordedStep& step, const Trace& trace, bool in_place,
                                    const OpSeconds& seconds);

// Keys: ops as [name, begins, seconds], uses as [block, op, kind] with kind 0 requests, 1 writes
// over, 2 reads; reasons by block; strategies and secondsSource.
nlohmann::ordered_json to_json(const StepStory& story);

}  // namespace skyline
