#pragma once

#include <cstdint>
#include <string>

#include "memory/plan.h"
#include "memory/trace.h"
#include "train/cli/figures.h"
#include "train/lab/order/order_result.h"

namespace skyline {

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

}  // namespace skyline
