// The orders of others, as baselines: those that PyTorch Inductor and XLA try, and TensorFlow's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {

// Keeps what list schedulers ask for: which ops may run, and how many bytes an op would free. An op
// frees a value that nothing else will read, unless it is kept: an input, or its own output. The
// problem must outlive it.
class ReadyOps {
 public:
  explicit ReadyOps(const OrderProblem& problem);

  // Changes that running an op makes.
  struct Changes {
    std::vector<OpId> ready;       // ops that need nothing more
    std::vector<OpId> frees_more;  // ops that became the only reader of a value; ready or not
  };

  std::vector<OpId> ready_at_first() const;
  std::uint64_t freed_bytes(OpId op) const { return freed_bytes_[op]; }
  std::uint64_t output_bytes(OpId op) const { return output_bytes_[op]; }

  // Runs an op that is ready. The reference holds until the next call.
  const Changes& run(OpId op);

 private:
  const OrderProblem& problem_;
  std::vector<std::uint32_t> readers_left_;  // by value
  std::vector<OpId> readers_xor_;            // by value: all that are left; of one, itself
  std::vector<std::size_t> missing_;         // predecessors that have not run, by op
  std::vector<std::uint64_t> freed_bytes_, output_bytes_;  // by op
  Changes changes_;
};

// Puts the ops that one op needs into the sequence in which they are visited.
using SortNeeds = std::function<void(std::vector<OpId>& needs)>;

// Visits the roots one after the other; each op comes after all that it needs, which are visited
// first, in their own sequence or in that of `sort`. Roots that came already are skipped. Without
// recursion; O(size) beside the sorting.
std::vector<OpId> depth_first(const OrderProblem& problem, std::span<const OpId> roots,
                              const SortNeeds& sort = {});

// Schedules op by op: of the ready ops that stay below the highest peak so far, the one with the
// least net growth (its outputs less what it frees); if none does, the one with the fewest new
// bytes, then the least net growth. Of ties the first of the program. In-place pairs are ignored.
// O(n log n). Source: PyTorch Inductor's "least peak memory first", its pull requests 134874 and
// 190511.
std::vector<OpId> least_peak_first(const OrderProblem& problem);

// The orders that PyTorch Inductor tries (torch/_inductor/memory.py), the best of them and the
// program's:
// - least peak memory first, see least_peak_first();
// - breadth first: of the ready ops the one whose predecessors ran earliest, compared one by one
//   from the earliest;
// - depth first: visits ops by the bytes that they read and write, the fewest first, each after all
//   that it needs.
OrderAnswer order_like_inductor(const StepGraph& graph, const OrderOptions& options);

// The orders that XLA's memory scheduler tries, the one with the lowest peak by simulation:
// - list: the ready op that frees the most beyond what it writes; then the one with more readers,
//   which makes more ops ready; of ties the one that entered the list last;
// - depth first from the ops that nothing needs: of an op's needs, first the one below which values
//   have the most readers beyond one, then the one below which the most bytes are written;
// - post-order: depth first with the needs in the program's order.
// Unlike Inductor's, it has no order of a program to fall back on.
OrderAnswer order_like_xla(const StepGraph& graph, const OrderOptions& options);

// The order of TensorFlow's executor with one thread: a queue of ready ops, first come, first
// served. An op enters once all that it needs has run; of several at once, the program's first. It
// does not look at bytes. O(size). Source: OLLA, section 2, on TensorFlow's scheduler.
OrderAnswer order_like_tensorflow(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
