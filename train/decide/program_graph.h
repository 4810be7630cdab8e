#pragma once

#include <cstdint>
#include <span>

#include "memory/step_graph.h"

namespace skyline {

// Returns a recorded step with its ops in the program's sequence. `numbers` holds the number of
// each op in it (DryRunFacts::program_numbers); the step has no control edges.
StepGraph in_program_sequence(StepGraph executed, std::span<const OpId> numbers);

// Returns a step that was recorded in the program's sequence as the search for an order needs it,
// so that the peaks of its orders are the bytes that a plan needs:
// - with the control edges that resident values need (add_resident_edges());
// - with every size rounded as allocators round it. In-place pairs of sizes that differ before they
//   are rounded are dropped, and all pairs unless `in_place`;
// - with a resident value for the resident bytes that no op uses, so that they add up to
//   `resident_bytes`.
StepGraph program_graph(StepGraph recorded, bool in_place, std::uint64_t resident_bytes);

}  // namespace skyline
