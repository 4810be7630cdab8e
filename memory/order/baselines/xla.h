#pragma once

#include "memory/order/order.h"

namespace skyline {

// The orders that XLA's memory scheduler tries, the one with the lowest peak by simulation:
// - list: the ready op that frees the most beyond what it writes; then the one with more readers,
//   which makes more ops ready; of ties the one that entered the list last;
// - depth first from the ops that nothing needs: of an op's needs, first the one below which values
//   have the most readers beyond one, then the one below which the most bytes are written;
// - post-order: depth first with the needs in the program's order.
// Unlike Inductor's, it has no order of a program to fall back on.
OrderAnswer order_like_xla(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
