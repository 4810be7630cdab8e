// Lower bounds of every step within a budget, by the ops at which bytes are alive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/lanes/conflicts.h"
#include "memory/order/order_problem.h"
#include "memory/order/search/max_flow.h"

namespace skyline {

// The ops of a problem as exits: what is alive when one of them runs, whatever is recomputed and in
// whatever order the ops run. An exit's ancestors have run then, and its descendants have not.
class ExitGraph {
 public:
  // The problem must outlive it. Throws GraphError for an unsound graph.
  explicit ExitGraph(const BudgetProblem& problem);

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // The moment when an exit runs. Values are those of order().
  struct Moment {
    OpId exit = 0;
    std::vector<char> before, after;    // by op: its ancestors, its descendants
    std::uint64_t exit_bytes = 0;       // new ones, and those of values that are alive anyway
    std::uint32_t engine = kNone;       // its smaller engine
    std::uint64_t engine_bytes = 0;     // more than that engine takes
    double engine_seconds = 0;          // that it costs
    std::vector<std::uint32_t> needed;  // values that only later ops read
    // True for a value that an ancestor wrote and that may be dropped and recomputed later. The
    // exit's inputs and values that are kept to the end of the step are alive anyway.
    std::vector<char> written;
  };
  Moment moment_of(OpId exit) const;

  // The same ops; only values that are requested.
  const OrderProblem& order() const { return order_; }
  // Returns kNone for none.
  std::uint32_t recompute_of(std::uint32_t value) const { return recompute_of_[value]; }
  const std::vector<std::uint32_t>& recompute_inputs(std::uint32_t recompute) const {
    return recompute_inputs_[recompute];
  }
  // Bytes of a recompute's workspace, of its smaller engine if it has one.
  std::uint64_t recompute_workspace(std::uint32_t recompute) const {
    return recompute_workspaces_[recompute];
  }
  std::uint32_t engine_of(OpId op) const { return engine_of_[op]; }        // kNone: no smaller one
  std::uint64_t engine_bytes(OpId op) const { return engine_bytes_[op]; }  // that it saves
  const std::vector<double>& engine_seconds() const { return engine_seconds_; }  // by engine

  // True if an op runs before another in every order.
  bool runs_before(OpId first, OpId second) const { return happens_before_.before(first, second); }
  // The outputs of an op that are not written over an input.
  std::vector<std::uint32_t> new_outputs(OpId op) const;

 private:
  OrderProblem order_;
  HappensBefore happens_before_;
  std::vector<std::uint32_t> recompute_of_;                   // by value
  std::vector<std::vector<std::uint32_t>> recompute_inputs_;  // values, by recompute
  std::vector<std::uint64_t> recompute_workspaces_;
  std::vector<std::uint32_t> engine_of_;     // by op
  std::vector<std::uint64_t> engine_bytes_;  // by op
  std::vector<double> engine_seconds_;
};

// Proves how many seconds a budget costs at least, whatever is recomputed, how often, and in
// whatever order the ops run.
//
// Take an op of backward, the exit. When it runs, its ancestors have run and its descendants have
// not. Each value that an ancestor wrote and a descendant reads is alive then, or is recomputed
// later; so is each value that such a recompute reads. What the exit itself reads is alive. Give a
// byte a price in seconds: the cheapest way is a minimum cut, in which living values cost their
// bytes and recomputes their seconds. A step within the budget has at most the budget's bytes
// alive, so on recomputes after the exit it spends at least
//
//   minimum cut + price × (new bytes of the exit − budget)
//
// seconds. Every exit and every price gives a bound; the greatest counts. An exit that a smaller
// engine could compute takes the bytes between the two engines, or the seconds. Those of other ops
// are added if no step within the budget has their own engines.
//
// One more moment counts for the fewest bytes: some op computes the last of what the exit reads, or
// recomputes it. Its own inputs are alive then, together with all that the exit reads. We do not
// know which input comes last, so the cheapest one counts.
//
// As a function of the price, an exit's bound is concave and every cut lies above it as a line. So
// the next price to try is where the lowest lines cross (Kelley 1960, "The cutting-plane method"),
// at the exit whose lines leave room for the greatest bound. Lines, and what prices proved, are
// kept from budget to budget.
class BudgetBound {
 public:
  // The problem must outlive the bound. Throws GraphError for an unsound graph.
  explicit BudgetBound(const BudgetProblem& problem);

  // Returns a lower bound of the extra seconds of a step within `bytes`, without resident values;
  // infinity if no step fits.
  double extra_seconds(std::uint64_t bytes) { return proof(bytes).extra_seconds; }
  // The bytes that every step needs, however long it takes.
  struct Least {
    std::uint64_t bytes = 0;
    OpId op = 0;              // when it runs, they are alive
    bool last_input = false;  // or before, when the last value that it reads is made
    std::uint64_t workspace_bytes = 0;
    std::vector<ValueId> values = {};  // read and written then, or kept for later
  };
  Least least();
  std::uint64_t least_bytes() { return least().bytes; }

  struct Proof {
    double extra_seconds = 0;
    OpId exit = 0;               // the op that gave the bound
    RecomputeChoice recomputed;  // by a cheapest step, after it; empty if the bound is 0
  };
  Proof proof(std::uint64_t bytes);

  const ExitGraph& graph() const { return graph_; }
  // Returns the seconds of each smaller engine that every step within `bytes` takes; 0 for others.
  std::vector<double> forced_seconds(std::uint64_t bytes);

 private:
  // A cut, which costs seconds + price × (bytes − budget) at any price.
  struct Line {
    double seconds = 0;       // of recomputes
    std::uint64_t bytes = 0;  // alive at the exit, its own included
    RecomputeChoice recomputed;
  };
  // A price proved this bound for any bytes: seconds − price × bytes.
  struct Proved {
    double seconds = 0, price = 0;
  };
  // The lowest point at which two lines of an exit cross.
  struct Crossing {
    double seconds = 0, price = 0;
    std::size_t line = 0;  // the one within the budget
  };
  // An op that computes a value, or a recompute of it.
  struct Maker {
    std::vector<std::uint32_t> inputs, outputs, new_outputs;
    std::uint64_t workspace_bytes = 0;
  };
  // While the last of an exit's inputs is made.
  struct LastInput {
    std::uint64_t bytes = 0, workspace_bytes = 0;
    std::vector<std::uint32_t> values;
  };
  struct Exit {
    OpId op = 0;
    std::vector<Line> lines;  // the first keeps everything, the second keeps the fewest bytes
    std::vector<Proved> proved;
    std::uint64_t last_input_bytes = 0;
    // No step needs fewer.
    std::uint64_t least_bytes() const { return std::max(lines[1].bytes, last_input_bytes); }
    std::uint32_t engine;
    std::uint64_t engine_bytes = 0;
    std::optional<ExitGraph::Moment> moment = {};  // once a price was tried
  };

  std::vector<Maker> makers_of(std::uint32_t value) const;
  LastInput last_input_of(const ExitGraph::Moment& moment) const;
  void find_exits();
  void build(const ExitGraph::Moment& moment, double second, double byte);
  std::vector<std::uint32_t> values_at(OpId exit);
  Line cut(const ExitGraph::Moment& moment);
  bool is_recomputed(std::uint32_t value) const;
  static Crossing crossing(const Exit& exit, std::uint64_t bytes);
  static double known(const Exit& exit, std::uint64_t bytes);
  double lower(Exit& exit, double price, std::uint64_t bytes);

  const BudgetProblem& problem_;
  ExitGraph graph_;
  const OrderProblem& order_;
  std::vector<Exit> exits_;  // found at the first proof
  MaxFlow flow_;
  std::uint64_t flowed_ = 0;
  bool smaller_ = false;  // the exit's smaller engine is on the cut's cheap side
  // Nodes of the network, by value of order_ and by recompute: its source, or the sink for none.
  std::vector<MaxFlow::Node> value_node_, recompute_node_;
};

}  // namespace skyline
