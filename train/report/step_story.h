#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/step_recorder.h"
#include "memory/plan.h"
#include "memory/step_graph.h"

namespace skyline {

// Returns a step and its plan for script/step.js: blocks, strings, plan, phases, categories. Throws
// PlanMismatch if the plan does not have one offset a block.
nlohmann::ordered_json step_json(const Trace& trace, const Plan& plan);

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
  Plan box;                    // by planner `box`: the region of a block begins at its offset
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
// over, 2 reads; reasons by block; strategies; box as {offsets, peak}; seconds_source.
nlohmann::ordered_json to_json(const StepStory& story);

// The ops in the sequence in which they run, and the bytes alive during each.
struct OrderCurve {
  std::vector<OpId> order;  // by their number in the program
  std::vector<std::uint64_t> bytes;
};

// Bytes that must be there when an op runs, who wrote them and who still reads them.
struct CutRow {
  std::uint64_t bytes = 0;
  std::string written_by, needed_by;
};

// A step in the program's sequence and in another one, and why no order needs less, as pages show
// it. All bytes include resident_bytes, except those of the cut.
struct OrderView {
  std::string algorithm;           // of the other sequence
  std::vector<std::string> names;  // of the ops, by their number in the program
  std::uint64_t resident_bytes = 0;
  OrderCurve before, after;
  std::uint64_t lower_bound = 0;
  bool forward_as_written = false;  // the bound is only of orders that run forward as written
  bool bound_by_search = false;     // the cut proves a part of the bound, a search the rest
  std::uint64_t least_known = 0;    // the least peak that was found over all orders
  std::string sentence;             // what must be there in any order; empty: unknown
  std::vector<CutRow> cut;          // the values that the sentence speaks of

  std::uint64_t program() const;  // peak of `before`
  std::uint64_t peak() const;     // peak of `after`
  std::uint64_t forward_saves() const { return peak() - std::min(peak(), least_known); }
};

nlohmann::ordered_json to_json(const OrderView& view);

}  // namespace skyline
