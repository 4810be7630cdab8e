#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>

#include "tests/memory/budget/chain_problem.h"

namespace skyline {

// Rotor's dynamic program (Beaumont et al. 2019, "Optimal checkpointing for heterogeneous chains:
// how to train deep neural networks with limited memory", section 4): the fewest seconds of all
// schedules that keep a result, once it is stored, until backward has read it. Counts bytes as
// ChainProblem's step does. To store everything on the way is to store the next result first.
class Rotor {
 public:
  explicit Rotor(const ChainProblem& chain) : chain_(chain) {}

  // Infinity if no schedule fits.
  double extra_seconds(std::uint64_t bytes) { return first_pass(0, bytes); }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  std::uint64_t size(std::size_t k) const { return chain_.bytes[k]; }

  // Whether results from + 1 … to can be made one after the other; only `from` is kept on the way.
  bool can_make(std::size_t from, std::size_t to, std::uint64_t bytes) const {
    for (std::size_t k = from + 1; k <= to; ++k) {
      const std::uint64_t input = k - 1 == from ? 0 : size(k - 1);
      if (size(from) + input + size(k) + chain_.workspaces[k] > bytes) return false;
    }
    return true;
  }

  // Forward from result `from` for the first time, then backward to it.
  double first_pass(std::size_t from, std::uint64_t bytes) {
    const std::size_t last = chain_.layers();
    if (from == last) return 2 * size(last) <= bytes ? 0 : kNever;
    double best = kNever;
    for (std::size_t to = from + 1; to <= last && size(from) <= bytes; ++to) {
      if (!can_make(from, to, bytes)) continue;
      const double after = first_pass(to, bytes - size(from));
      if (after < kNever) best = std::min(best, after + backward(from, to, bytes));
    }
    return best;
  }

  // Backward from the gradient of result `to` to that of `from`, which is stored.
  double backward(std::size_t from, std::size_t to, std::uint64_t bytes) {
    if (size(from) + size(to) > bytes) return kNever;
    if (to == from + 1) return 0;
    const auto [known, is_new] = known_.try_emplace({from, to, bytes}, kNever);
    if (!is_new) return known->second;
    double best = kNever, seconds = 0;
    for (std::size_t store = from + 1; store < to; ++store) {
      seconds += chain_.seconds[store];
      if (!can_make(from, store, bytes - size(to))) continue;
      const double after = backward(store, to, bytes - size(from));
      if (after < kNever) best = std::min(best, seconds + after + backward(from, store, bytes));
    }
    return known_[{from, to, bytes}] = best;
  }

  ChainProblem chain_;
  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, double> known_;
};

}  // namespace skyline
