#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/plan.h"
#include "memory/step_graph.h"
#include "train/cli/figures.h"
#include "train/lab/lanes/lane_answer.h"
#include "train/lab/strategies.h"

namespace skyline {

// A value of a picture, and the region that it lies in. Regions count from 1, in the order in which
// they are first used.
struct NoteValue {
  std::string name;  // that of the op that writes it
  std::uint64_t bytes = 0;
  std::size_t region = 0;
  std::string how;  // "new", "over A", "where A was", "where A was, grown from 64 B"
  std::string box;  // the free regions once the op is done: "1 (64 B), 3 (128 B)"
};

// A small step, planned with the note's box of free regions (planner `box`).
struct NotePicture {
  std::string title, about;
  StepGraph graph;
  Plan plan;
  std::uint64_t sum = 0;          // bytes, if each value had its own
  std::vector<NoteValue> values;  // in the order of the ops

  // Throws std::out_of_range if no value has this name.
  const NoteValue& value(std::string_view name) const;
};

// A step whose ops may run side by side, on two lanes; each op takes one second.
struct NoteLanes {
  std::string title, about;
  StepGraph graph;
  LaneAnswer answer;

  std::vector<double> seconds() const;  // of each op
};

// The strategies of one network's training step.
struct NoteCosts {
  std::string network;
  std::int64_t batch_size = 0;
  std::vector<Strategy> strategies;

  // Bytes planned; nothing if the network has no such row.
  std::optional<std::uint64_t> planned(std::string_view strategy) const;
  // The share of the step without in-place writing and sharing that both together save.
  double saved() const;
};

// "Optimizing Memory Consumption in Deep Learning" (MXNet): its pictures, each computed, and its
// table of costs.
struct MxnetReproduction {
  std::vector<NotePicture> pictures;  // chain, trap, sharing, perceptron, steps
  std::vector<NoteLanes> lanes;       // the note's parallel operations, and an example of colours
  std::uint64_t workspace_bytes = 0;  // that each convolution of the table asks for
  std::vector<NoteCosts> costs;
};

// Plans the pictures, and dry-runs the networks of the table.
MxnetReproduction reproduce_mxnet();

// The note's "Memory Allocation for Parallel Operations": A[1] feeds two branches, A[2] to A[4] and
// A[5] to A[7], which A[8] joins. All values have one size. Run as written, one lane lets A[5] take
// the bytes of A[3], which A[4] reads, so the branches cannot run side by side.
NoteLanes parallel_note();

// A step of which one lane, two lanes, any order and path colours make four plans: 4, 5, 6 and 7
// values. A search of random steps found it, and none with fewer ops.
NoteLanes colours_note();

Rows<MxnetReproduction> rows(const MxnetReproduction*);
std::string mxnet_text(const MxnetReproduction& reproduction);
// Returns one self-contained HTML page with the note's seven figures.
std::string mxnet_page(const MxnetReproduction& reproduction);

}  // namespace skyline
