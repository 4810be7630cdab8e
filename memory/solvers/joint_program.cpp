#include "memory/solvers/joint_program.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/search.h"
#include "memory/solvers/joint_search.h"
#include "memory/solvers/order_program.h"

namespace skyline {
namespace {

constexpr std::string_view kJointName = "olla-joint";
// Addresses of 2^16 units, too, are off by less than half a unit: 2^16 × 1e-7 = 0.007.
constexpr OrderModelLimits kJointLimits{.ops = 64, .units = 1 << 16};
// Nodes for a search without a time limit: 16,000 for 8 ops, 2,500 for 20, in a minute or two.
constexpr std::size_t kNodesTimesSquaredOps = 1'000'000;
constexpr double kShareForSearch = 0.25;  // of the time
// States of the exhaustive search: some 20 seconds, 200 MB.
constexpr std::size_t kMostStates = 2'000'000;
constexpr double kShareForStates = 0.5;  // of the time that is left

using Terms = IntegerProgram::Terms;

// The blocks that an order requests. Blocks are numbered: first the values, then the workspaces by
// op.
struct Requests {
  std::vector<std::size_t> blocks;  // by request
  std::vector<std::size_t> homes;   // by block: the block that was requested for it

  Requests(const OrderProblem& problem, std::span<const OpId> order)
      : homes(problem.values.size() + problem.ops.size()) {
    std::iota(homes.begin(), homes.end(), std::size_t{0});
    OrderWalk walk(problem);
    for (const OpId op : order) {
      const OrderProblem::Op& run = problem.ops[op];
      UsedPairs used;
      for (const OrderProblem::Pair& pair : run.in_place) {
        if (walk.readers_left(pair.input) == 1 && used.take(pair.input, pair.output))
          homes[pair.output] = homes[pair.input];
      }
      for (const std::uint32_t output : run.outputs) {
        if (problem.values[output].bytes > 0 && homes[output] == output) blocks.push_back(output);
      }
      if (run.workspace_bytes > 0) blocks.push_back(problem.values.size() + op);
      walk.run(op);
    }
  }
};

// An address for each block, on top of an OrderModel.
class Addresses {
 public:
  // Some order has a plan of `most` bytes, and none has one below `least`.
  Addresses(OrderModel& model, std::uint64_t least, std::uint64_t most)
      : model_(model), problem_(model.problem()), most_(model.units(most)) {
    peak_ = model_.add_peak(least, most);
    for (std::size_t block = 0; block < blocks(); ++block) {
      addresses_.push_back(program().add_column(0, most_ - size(block)));
      program().add_row(Terms{{addresses_[block], 1}, {peak_, -1}}, -size(block));
    }
    for (std::size_t i = 0; i < blocks(); ++i) {
      for (std::size_t j = i + 1; j < blocks(); ++j) separate(i, j);
    }
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      for (std::size_t pair = 0; pair < problem_.ops[op].in_place.size(); ++pair) join(op, pair);
    }
    if (blocks() > 0) keep_low(largest());
  }

  // Gives CBC an order and its plan to begin with.
  void start_from(std::span<const OpId> order, const Plan& plan) {
    model_.start_from(order, peak_, plan.peak);
    const Requests requests(problem_, order);
    std::vector<std::uint64_t> offsets(blocks());
    for (std::size_t k = 0; k < requests.blocks.size(); ++k) {
      offsets[requests.blocks[k]] = plan.offsets[k];
    }
    const std::size_t low = requests.homes[largest()];
    if (2 * offsets[low] + bytes(low) > plan.peak) {
      for (std::size_t block = 0; block < blocks(); ++block) {
        offsets[block] = plan.peak - offsets[block] - bytes(block);
      }
    }
    for (const Separation& pair : separations_) {
      const std::uint64_t i = offsets[requests.homes[pair.i]], j = offsets[requests.homes[pair.j]];
      const bool below = i + bytes(pair.i) <= j, above = j + bytes(pair.j) <= i;
      program().start_column(pair.below, below ? 1 : 0);
      if (pair.above != pair.below) program().start_column(pair.above, above ? 1 : 0);
    }
  }

  // Returns the solution's addresses in units, in the sequence of the order's requests.
  std::vector<double> by_request(std::span<const OpId> order) const {
    std::vector<double> found;
    for (const std::size_t block : Requests(problem_, order).blocks) {
      found.push_back(model_.program().solution()[static_cast<std::size_t>(addresses_[block])]);
    }
    return found;
  }

 private:
  // One of two blocks lies above the other: columns that say which; one column if one of both
  // must.
  struct Separation {
    std::size_t i, j;
    int below, above;
  };
  // The steps at which a block may be alive, and between which ops.
  struct Life {
    OpId born;
    std::vector<OpId> ends;  // one of them is the last; empty: the end of the step
    std::size_t first, last;
  };

  IntegerProgram& program() { return model_.program(); }
  std::size_t blocks() const { return problem_.values.size() + problem_.ops.size(); }
  bool is_value(std::size_t block) const { return block < problem_.values.size(); }
  OpId op_of(std::size_t workspace) const {
    return static_cast<OpId>(workspace - problem_.values.size());
  }

  std::uint64_t bytes(std::size_t block) const {
    return is_value(block) ? problem_.values[block].bytes
                           : problem_.ops[op_of(block)].workspace_bytes;
  }
  double size(std::size_t block) const { return model_.units(bytes(block)); }

  Life life_of(std::size_t block) const {
    Life life{.born = is_value(block) ? problem_.values[block].producer : op_of(block)};
    life.first = model_.first_step(life.born);
    life.last = model_.steps() - 1;
    if (is_value(block)) {
      if (problem_.values[block].kept) return life;
      life.ends = model_.last_readers(static_cast<std::uint32_t>(block));
    }
    if (life.ends.empty()) life.ends.push_back(life.born);
    life.last = 0;
    for (const OpId op : life.ends) life.last = std::max(life.last, model_.last_step(op));
    return life;
  }

  void add_alive(Terms& terms, std::size_t block, std::size_t step) const {
    if (is_value(block)) {
      model_.add_alive(terms, static_cast<std::uint32_t>(block), step, 1);
    } else {
      model_.add_run(terms, op_of(block), step, 1);
    }
  }

  // True if the first dies before the second is requested, in every order.
  bool ends_before(const Life& life, const Life& other) const {
    return !life.ends.empty() &&
           std::ranges::all_of(life.ends, [&](OpId op) { return model_.precedes(op, other.born); });
  }

  // True if the second is requested while the first is alive, in every order.
  bool spans_birth(const Life& life, const Life& other) const {
    const auto before = [this](OpId a, OpId b) { return a == b || model_.precedes(a, b); };
    return before(life.born, other.born) &&
           (life.ends.empty() ||
            std::ranges::any_of(life.ends, [&](OpId op) { return before(other.born, op); }));
  }

  // One lies above the other if both are alive at a step, unless one is written over the other.
  void separate(std::size_t i, std::size_t j) {
    if (size(i) == 0 || size(j) == 0) return;
    const Life one = life_of(i), other = life_of(j);
    if (ends_before(one, other) || ends_before(other, one)) return;
    const bool meet = !may_share(i, j) && (spans_birth(one, other) || spans_birth(other, one));
    const int below = program().add_whole_column(0, 1);
    const int above = meet ? below : program().add_whole_column(0, 1);
    separations_.push_back({i, j, below, above});
    const int a = addresses_[i], b = addresses_[j];
    program().add_row(Terms{{a, 1}, {b, -1}, {below, most_}}, most_ - size(i));
    if (meet) return program().add_row(Terms{{b, 1}, {a, -1}, {below, -most_}}, -size(j));
    program().add_row(Terms{{b, 1}, {a, -1}, {above, most_}}, most_ - size(j));
    program().add_row(Terms{{below, 1}, {above, 1}}, 1);
    const std::size_t last = std::min(one.last, other.last);
    for (std::size_t step = std::max(one.first, other.first); step <= last; ++step) {
      Terms both = {{below, -1}, {above, -1}};
      add_alive(both, i, step);
      add_alive(both, j, step);
      subtract_in_place(both, i, j, step);
      program().add_row(both, 1);
    }
  }

  std::size_t largest() const {
    std::size_t most = 0;
    for (std::size_t block = 1; block < blocks(); ++block) {
      if (bytes(block) > bytes(most)) most = block;
    }
    return most;
  }

  // Keeps the block in the lower half: a plan upside down is a plan, too.
  void keep_low(std::size_t block) {
    program().add_row(Terms{{addresses_[block], 2}, {peak_, -1}}, -size(block));
  }

  // Calls `take` with each op and pair that may write one of both blocks over the other.
  template <typename Take>
  void for_each_sharing(std::size_t i, std::size_t j, Take take) const {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      const std::vector<OrderProblem::Pair>& pairs = problem_.ops[op].in_place;
      for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
        const std::size_t input = pairs[pair].input, output = pairs[pair].output;
        if (std::minmax(input, output) == std::minmax(i, j)) take(op, pair);
      }
    }
  }

  bool may_share(std::size_t i, std::size_t j) const {
    bool may = false;
    for_each_sharing(i, j, [&may](OpId, std::size_t) { may = true; });
    return may;
  }

  void subtract_in_place(Terms& terms, std::size_t i, std::size_t j, std::size_t step) const {
    for_each_sharing(
        i, j, [&](OpId op, std::size_t pair) { model_.add_in_place(terms, op, pair, step, -1); });
  }

  // The output has the input's address if it is written over it.
  void join(OpId op, std::size_t pair) {
    const OrderProblem::Pair& in_place = problem_.ops[op].in_place[pair];
    const int a = addresses_[in_place.input], b = addresses_[in_place.output];
    for (const auto& [high, low] : {std::pair(a, b), std::pair(b, a)}) {
      Terms apart = {{high, 1}, {low, -1}};
      for (std::size_t step = 0; step < model_.steps(); ++step) {
        model_.add_in_place(apart, op, pair, step, most_);
      }
      program().add_row(apart, most_);
    }
  }

  OrderModel& model_;
  const OrderProblem& problem_;
  const double most_;           // units
  int peak_ = 0;                // column
  std::vector<int> addresses_;  // columns, by block
  std::vector<Separation> separations_;
};

// Places the blocks of a trace in the sequence of these addresses, each as low as it goes.
Plan placed_by(const Trace& trace, const std::vector<double>& addresses, std::uint64_t alignment) {
  const Packing packing(trace, alignment);
  std::vector<BlockIndex> sequence(addresses.size());
  std::iota(sequence.begin(), sequence.end(), BlockIndex{0});
  std::ranges::stable_sort(sequence, {}, [&](BlockIndex block) { return addresses[block]; });
  Placement placement;
  require_addressable(HolePacker(packing).pack(sequence, kMaxAddress, placement), kJointName);
  return to_plan(packing, std::move(placement), kJointName, {.alignment = alignment});
}

// Puts an order into `found` whose blocks have these addresses, by request, unless its plan is
// higher.
void take(const StepGraph& graph, const OrderOptions& options, const OrderProblem& problem,
          const std::vector<OpId>& order, const std::vector<double>& addresses,
          OrderAnswer& found) {
  Plan plan = placed_by(trace_of_order(graph, order, options), addresses, options.alignment);
  if (plan.peak > found.joint->plan.peak) return;
  found.joint->plan = std::move(plan);
  found.order = order;
  found.peak = order_peak(problem, order);
}

// Lowers the plan by an exhaustive search until no order has a lower one, or the search stays open.
void search_all(const StepGraph& graph, const OrderOptions& options, const OrderProblem& problem,
                const Deadline& deadline, OrderAnswer& found) {
  JointPlan& joint = *found.joint;
  while (joint.plan.peak > joint.lower_bound) {
    JointSearch search(problem, kMostStates, deadline);
    const JointSearch::Verdict verdict = search.at_most(joint.plan.peak - 1);
    if (verdict == JointSearch::Verdict::kNone) joint.lower_bound = joint.plan.peak;
    if (verdict != JointSearch::Verdict::kFound) return;
    std::vector<double> addresses;
    for (const std::size_t block : Requests(problem, search.order()).blocks) {
      addresses.push_back(search.addresses()[block]);
    }
    take(graph, options, problem, search.order(), addresses, found);
  }
}

// Solves the program, begun with `found`, and puts into it what the program improves or proves.
void solve(const StepGraph& graph, const OrderOptions& options, OrderModel& model,
           const Deadline& deadline, OrderAnswer& found) {
  JointPlan& joint = *found.joint;
  Addresses addresses(model, joint.lower_bound, joint.plan.peak);
  addresses.start_from(found.order, joint.plan);
  if (joint.lower_bound == joint.plan.peak) model.program().search_plainly();
  const std::size_t nodes = kNodesTimesSquaredOps / (model.steps() * model.steps());
  const std::uint64_t bound = model.solve(deadline.seconds_left(), static_cast<int>(nodes));
  joint.lower_bound = std::max(joint.lower_bound, bound);
  const std::vector<OpId> order = model.order();
  if (!order.empty()) {
    take(graph, options, model.problem(), order, addresses.by_request(order), found);
  }
}

}  // namespace

OrderAnswer joint_program(const StepGraph& graph, const OrderOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const OrderProblem problem = order_problem(graph, options);
  OrderModel model(problem, kJointName, kJointLimits);
  OrderOptions of_search = options;
  if (of_search.time_limit_seconds) *of_search.time_limit_seconds *= kShareForSearch;
  PlacedOrder first = order_and_place(graph, kDefaultOrder, of_search);
  OrderAnswer found = std::move(first.order);
  found.joint = {std::move(first.plan), found.lower_bound, first.least_peak};
  found.algorithm = kJointName;
  JointPlan& joint = *found.joint;
  search_all(graph, options, problem, deadline.part(kShareForStates), found);
  if (!passed(deadline) && joint.plan.peak > 0) solve(graph, options, model, deadline, found);
  joint.lower_bound = std::min(joint.lower_bound, joint.plan.peak);
  // No plan of this order is lower either.
  joint.plan.proved_bound = std::max(joint.plan.proved_bound, joint.lower_bound);
  joint.plan.proved_optimal = joint.plan.peak == joint.plan.proved_bound;
  found.proved_optimal = found.peak == found.lower_bound;
  return found;
}

}  // namespace skyline
