// An exhaustive search for an order and addresses at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "memory/order/order_problem.h"
#include "memory/planners/search.h"

namespace skyline {

// Decides whether some order of at most 64 ops has a plan of at most `bytes`: runs op after op and
// gives each block an address when it is requested. What can follow depends on the ops that ran and
// on the addresses of the blocks alive only, so each such state is entered once, and none after
// which no order keeps within the bytes, wherever blocks lie. Every plan can be pushed down until
// each block lies on the ground or on another one: addresses are therefore sums of sizes. The first
// block of an empty memory lies in its lower half, for a plan upside down is a plan, too.
class JointSearch {
 public:
  enum class Verdict { kFound, kNone, kOpen };

  // The problem outlives the search, which ends open after so many states or at the deadline, and
  // at once beyond 2^16 units (the sizes' greatest common divisor).
  JointSearch(const OrderProblem& problem, std::size_t most_states, const Deadline& deadline);

  Verdict at_most(std::uint64_t bytes);

  // The best found: the order, and an address for each block that it requests, values first, then
  // workspaces by op.
  const std::vector<OpId>& order() const { return order_; }
  const std::vector<double>& addresses() const { return addresses_; }

 private:
  struct Alive {
    std::uint64_t offset, bytes;
    std::uint32_t value;
  };

  bool extend();
  std::vector<OpId> next_ops() const;
  bool can_end();
  bool enter();
  bool is_over(std::size_t states) const;
  std::string state() const;
  bool ready(OpId op) const;
  bool run(OpId op);
  bool place(OpId op, const std::vector<std::uint32_t>& fresh, std::size_t next);
  bool finish(OpId op);
  std::vector<std::uint32_t> write_in_place(OpId op);
  void add_sums(std::uint64_t bytes);
  template <typename Take>
  void each_gap(Take take) const;

  const OrderProblem& problem_;
  std::size_t most_states_;
  Deadline deadline_;
  OrderWalk walk_;
  std::uint64_t unit_ = 0, most_bytes_ = 0;
  std::vector<char> sums_;  // by address in units: some blocks on each other reach it
  std::uint64_t ran_ = 0;   // a bit an op
  std::vector<OpId> order_;
  std::vector<double> addresses_;
  std::vector<Alive> alive_;  // by offset
  std::unordered_set<std::string> entered_;
  std::unordered_map<std::uint64_t, bool> can_end_;  // by the ops that ran
  bool open_ = false;
};

}  // namespace skyline
