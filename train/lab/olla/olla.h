#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/plan.h"
#include "memory/trace.h"
#include "train/cli/figures.h"
#include "train/lab/order/order_result.h"

namespace skyline {

// Training steps of well-known networks, as texts of graph files (memory/formats/graph_file.h);
// the name ends with the batch size: "alexnet-32". Every op of an ordinary eager step is apart:
// input and weight gradients are two ops, updates are plain SGD at the end, nothing is in place.
// Embedded by the build (embed_graphs.cmake).
std::span<const std::string_view> network_graphs();
// The graph of OLLA's figure 3 and the trace of its figure 4.
std::string_view olla_figure_3();
std::string_view olla_figure_4();

// OLLA's figure 4: three blocks in a memory of `capacity` bytes. An allocator that places each
// request as low as it goes leaves two free pieces that are too small for the last block; a plan
// leaves a gap at first, so that it fits.
struct FragmentationFigure {
  Trace trace;
  std::uint64_t capacity = 0;  // bytes
  Plan as_requested;           // each block in the smallest hole when it is requested
  Plan plan;
  std::string refusal;  // of `bfc`: "free memory is fragmented"; empty: it served all
};
Rows<TraceBlock> rows(const TraceBlock*);
Rows<FragmentationFigure> rows(const FragmentationFigure*);

// The two pictures of OLLA's paper (arXiv:2210.12924), worked out here.
struct OllaFigures {
  OrderResult order;  // figure 3
  FragmentationFigure fragmentation;

  // "figure 3: 60 -> 45 MB …", "figure 4: …": two lines.
  std::string text() const;
};

// Orders figure 3 and places figure 4. Both are embedded by the build (embed_graphs.cmake).
OllaFigures olla_figures();

// What others report for the same training step.
struct OllaFigure {
  std::string source;
  double before_gib = 0, after_gib = 0;

  double saving() const { return 1 - after_gib / before_gib; }
};

// One training step, ordered by every algorithm. Bytes include resident values.
struct OllaRow {
  OrderResult optimal;  // its seconds are the median
  std::uint64_t inductor = 0, xla = 0, tensorflow = 0;
  // Reserved by PyTorch's allocator: the program's order, replayed on `caching`.
  std::uint64_t caching = 0;
  std::optional<OllaFigure> published = {};

  // Shares: what the order saves; what a plan would save of the program's order; what the order
  // with its plan saves against PyTorch's allocator.
  double order_saving() const { return optimal.saving(); }
  double fragmentation() const { return saved(caching, optimal.program); }
  double both_saving() const { return saved(caching, optimal.placed); }

  static double saved(std::uint64_t before, std::uint64_t after);
};

struct OllaReproduction {
  OllaFigures figures;
  std::vector<OllaRow> rows;

  double mean(double (OllaRow::*share)() const) const;
  double seconds() const;  // of all searches for an optimal order
};

// Works out the figures, orders and places the steps of network_graphs() and times each
// search in so many runs.
OllaReproduction reproduce_olla(int timed_runs = 5);

Rows<OllaReproduction> rows(const OllaReproduction*);
std::string olla_text(const OllaReproduction& reproduction);
// Returns one self-contained HTML page with the paper's figures and the bytes alive at each op,
// before and after.
std::string olla_page(const OllaReproduction& reproduction);

}  // namespace skyline
