#include "memory/budget/budget_bound.h"

#include <numeric>
#include <queue>
#include <ranges>
#include <utility>

#include "memory/order/order.h"

namespace skyline {
namespace {

constexpr std::uint32_t kNone = ExitGraph::kNone;
enum : MaxFlow::Node { kSource, kSink, kFirst };
// Capacities are integers: rounded down, so that the flow stays a bound.
constexpr double kUnitsPerSecond = 1e9;
// Another price is tried if it may raise an exit's bound by this share.
constexpr double kWorthwhile = 1e-6;

std::uint64_t capacity(double cost) { return static_cast<std::uint64_t>(cost); }

}  // namespace

ExitGraph::ExitGraph(const BudgetProblem& problem)
    : order_(order_problem(problem.graph, {})),
      happens_before_(order_.ops.size()),
      recompute_of_(order_.values.size(), kNone),
      engine_of_(problem.graph.ops.size(), kNone),
      engine_bytes_(problem.graph.ops.size()),
      engine_seconds_(problem.engines.size()) {
  for (OpId op = 0; op < order_.ops.size(); ++op) {
    for (const OpId before : order_.ops[op].predecessors) happens_before_.add_wait(op, before);
  }
  const std::vector<StepValue>& values = problem.graph.values;
  std::vector<std::uint32_t> value_of(values.size(), kNone);
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) value_of[order_.values[k].id] = k;
  for (std::uint32_t k = 0; k < problem.recomputes.size(); ++k) {
    const Recompute& recompute = problem.recomputes[k];
    recompute_of_[value_of[recompute.value]] = k;
    recompute_workspaces_.push_back(recompute.workspace_bytes);
    std::vector<std::uint32_t>& inputs = recompute_inputs_.emplace_back();
    for (const ValueId input : recompute.inputs) {
      if (!values[values[input].storage].resident) {
        inputs.push_back(value_of[values[input].storage]);
      }
    }
  }
  for (std::uint32_t k = 0; k < problem.engines.size(); ++k) {
    for (const SmallerEngine::Use& use : problem.engines[k].uses) {
      if (use.op.is_recompute) {
        recompute_workspaces_[use.op.index] = use.workspace_bytes;
        continue;
      }
      engine_of_[use.op.index] = k;
      engine_bytes_[use.op.index] =
          problem.graph.ops[use.op.index].workspace_bytes - use.workspace_bytes;
      engine_seconds_[k] += use.extra_seconds;
    }
  }
}

std::vector<std::uint32_t> ExitGraph::new_outputs(OpId op) const {
  const std::vector<OrderProblem::Pair>& in_place = order_.ops[op].in_place;
  std::vector<std::uint32_t> outputs = order_.ops[op].outputs;
  std::erase_if(outputs, [&in_place](std::uint32_t output) {
    return std::ranges::find(in_place, output, &OrderProblem::Pair::output) != in_place.end();
  });
  return outputs;
}

ExitGraph::Moment ExitGraph::moment_of(OpId exit) const {
  Moment moment{.exit = exit, .engine = engine_of_[exit]};
  for (OpId op = 0; op < order_.ops.size(); ++op) {
    moment.before.push_back(op < exit && runs_before(op, exit));
    moment.after.push_back(op > exit && runs_before(exit, op));
  }
  const OrderProblem::Op& op = order_.ops[exit];
  moment.exit_bytes = op.workspace_bytes - engine_bytes_[exit];
  moment.engine_bytes = engine_bytes_[exit];
  if (moment.engine != kNone) moment.engine_seconds = engine_seconds_[moment.engine];
  for (const std::uint32_t input : op.inputs) moment.exit_bytes += order_.values[input].bytes;
  for (const std::uint32_t output : new_outputs(exit)) {
    moment.exit_bytes += order_.values[output].bytes;
  }
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) {
    const OrderProblem::Value& value = order_.values[k];
    const bool is_input = std::ranges::find(op.inputs, k) != op.inputs.end();
    const bool written = moment.before[value.producer] && !is_input;
    if (written && value.kept) moment.exit_bytes += value.bytes;
    moment.written.push_back(written && !value.kept);
    const auto reads_later = [&](OpId reader) { return moment.after[reader] != 0; };
    if (moment.written[k] &&
        std::ranges::any_of(value.readers | std::views::reverse, reads_later)) {
      moment.needed.push_back(k);
    }
  }
  return moment;
}

BudgetBound::BudgetBound(const BudgetProblem& problem)
    : problem_(problem), graph_(problem), order_(graph_.order()) {}

std::vector<BudgetBound::Maker> BudgetBound::makers_of(std::uint32_t value) const {
  const OpId producer = order_.values[value].producer;
  const OrderProblem::Op& op = order_.ops[producer];
  std::vector<Maker> makers = {
      {.inputs = op.inputs,
       .outputs = op.outputs,
       .new_outputs = graph_.new_outputs(producer),
       .workspace_bytes = op.workspace_bytes - graph_.engine_bytes(producer)}};
  const std::uint32_t recompute = graph_.recompute_of(value);
  if (recompute == kNone) return makers;
  makers.push_back({.inputs = graph_.recompute_inputs(recompute),
                    .outputs = {value},
                    .workspace_bytes = graph_.recompute_workspace(recompute)});
  if (problem_.recomputes[recompute].in_place.empty()) makers.back().new_outputs = {value};
  return makers;
}

// Counts values that cannot be recomputed only if they were written before the input was first
// made.
BudgetBound::LastInput BudgetBound::last_input_of(const ExitGraph::Moment& moment) const {
  const std::vector<std::uint32_t>& inputs = order_.ops[moment.exit].inputs;
  if (inputs.empty()) return {};
  const auto reads_later = [&](OpId reader) { return moment.after[reader] != 0; };
  std::vector<std::uint32_t> staying;
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) {
    const OrderProblem::Value& value = order_.values[k];
    if (value.kept ||
        (graph_.recompute_of(k) == kNone && std::ranges::any_of(value.readers, reads_later))) {
      staying.push_back(k);
    }
  }
  std::vector<char> counted;
  LastInput least{.bytes = std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint32_t input : inputs) {
    const OpId first_made = order_.values[input].producer;
    for (const Maker& maker : makers_of(input)) {
      LastInput made{.bytes = maker.workspace_bytes, .workspace_bytes = maker.workspace_bytes};
      counted.assign(order_.values.size(), false);
      const auto count = [&](std::uint32_t value) {
        if (std::exchange(counted[value], true)) return;
        made.bytes += order_.values[value].bytes;
        made.values.push_back(value);
      };
      std::ranges::for_each(maker.new_outputs, count);
      std::ranges::for_each(maker.inputs, count);
      for (const std::uint32_t output : maker.outputs) counted[output] = true;  // over an input
      std::ranges::for_each(inputs, count);
      for (const std::uint32_t value : staying) {
        if (graph_.runs_before(order_.values[value].producer, first_made)) count(value);
      }
      if (made.bytes < least.bytes) least = std::move(made);
    }
  }
  std::ranges::sort(least.values);
  return least;
}

// The source's side holds what is recomputed: a recompute on it runs after the exit, a value on it
// is read after the exit. `second` and `byte` are what these cost. A needed value is on it anyway,
// so its recompute is a node only if it reads a value that may be on either side.
void BudgetBound::build(const ExitGraph::Moment& moment, double second, double byte) {
  flow_.reset(kFirst);
  value_node_.assign(order_.values.size(), kSink);
  recompute_node_.assign(problem_.recomputes.size(), kSink);
  const std::uint64_t own = capacity(byte * static_cast<double>(moment.engine_bytes));
  const std::uint64_t smaller = capacity(second * moment.engine_seconds);
  smaller_ = smaller < own;
  flowed_ = std::min(own, smaller);
  for (const std::uint32_t value : moment.needed) value_node_[value] = kSource;
  const auto may_be_kept = [&](std::uint32_t input) {
    return moment.written[input] && value_node_[input] != kSource;
  };
  std::vector<std::uint32_t> open = moment.needed;
  for (std::size_t k = 0; k < open.size(); ++k) {
    const std::uint32_t value = open[k], recompute = graph_.recompute_of(value);
    const MaxFlow::Node read = value_node_[value];
    const std::uint64_t kept = capacity(byte * static_cast<double>(order_.values[value].bytes));
    if (recompute == kNone) {
      flow_.add_arc(read, kSink, kept);
      continue;
    }
    const std::vector<std::uint32_t>& inputs = graph_.recompute_inputs(recompute);
    const std::uint64_t again = capacity(second * problem_.recomputes[recompute].seconds);
    if (read == kSource && std::ranges::none_of(inputs, may_be_kept)) {
      flowed_ += std::min(kept, again);
      if (again < kept) recompute_node_[recompute] = kSource;
      continue;
    }
    const MaxFlow::Node made = recompute_node_[recompute] = flow_.add_node();
    flow_.add_arc(read, made, kept);
    flow_.add_arc(made, kSink, again);
    for (const std::uint32_t input : inputs) {
      if (!may_be_kept(input)) continue;
      if (value_node_[input] == kSink) {
        value_node_[input] = flow_.add_node();
        open.push_back(input);
      }
      flow_.add_arc(made, value_node_[input], MaxFlow::kUnlimited);
    }
  }
  flowed_ += flow_.run(kSource, kSink);
}

// On the source's side of the cut, together with its recompute.
bool BudgetBound::is_recomputed(std::uint32_t value) const {
  const std::uint32_t recompute = graph_.recompute_of(value);
  return recompute != kNone && flow_.on_source_side(recompute_node_[recompute]);
}

BudgetBound::Line BudgetBound::cut(const ExitGraph::Moment& moment) {
  Line line{.seconds = smaller_ ? moment.engine_seconds : 0,
            .bytes = moment.exit_bytes + (smaller_ ? 0 : moment.engine_bytes),
            .recomputed = RecomputeChoice(problem_.recomputes.size())};
  for (std::uint32_t value = 0; value < order_.values.size(); ++value) {
    if (!flow_.on_source_side(value_node_[value])) continue;
    if (is_recomputed(value)) {
      line.seconds += problem_.recomputes[graph_.recompute_of(value)].seconds;
      line.recomputed[graph_.recompute_of(value)] = Recompute::kOnce;
    } else {
      line.bytes += order_.values[value].bytes;
    }
  }
  return line;
}

// An exit that needs fewer bytes with all kept than another does at least proves nothing.
void BudgetBound::find_exits() {
  if (!exits_.empty()) return;
  std::uint64_t least = 0;
  for (OpId op = problem_.backward; op < order_.ops.size(); ++op) {
    const ExitGraph::Moment moment = graph_.moment_of(op);
    Line all_kept{.bytes = moment.exit_bytes + moment.engine_bytes,
                  .recomputed = RecomputeChoice(problem_.recomputes.size())};
    for (const std::uint32_t value : moment.needed) all_kept.bytes += order_.values[value].bytes;
    Line fewest = all_kept;
    fewest.bytes -= moment.engine_bytes;
    if (all_kept.bytes >= least) {
      build(moment, 0, 1);
      fewest = cut(moment);
    }
    exits_.push_back({.op = op,
                      .lines = {std::move(all_kept), std::move(fewest)},
                      .last_input_bytes = last_input_of(moment).bytes,
                      .engine = graph_.engine_of(op),
                      .engine_bytes = moment.engine_bytes});
    least = std::max(least, exits_.back().least_bytes());
  }
}

// The greatest height below all lines: the lowest crossing of a line that rises with one that does
// not.
BudgetBound::Crossing BudgetBound::crossing(const Exit& exit, std::uint64_t bytes) {
  Crossing best{.seconds = std::numeric_limits<double>::infinity()};
  for (const Line& rising : exit.lines) {
    if (rising.bytes <= bytes) continue;
    const auto rise = static_cast<double>(rising.bytes - bytes);
    for (const Line& falling : exit.lines) {
      if (falling.bytes > bytes) continue;
      const auto fall = static_cast<double>(bytes - falling.bytes);
      const double price = (falling.seconds - rising.seconds) / (rise + fall);
      const double seconds = falling.seconds - price * fall;
      // A level line is the lowest only from its last crossing on.
      if (seconds > best.seconds || (seconds == best.seconds && price <= best.price)) continue;
      best = {seconds, price, static_cast<std::size_t>(&falling - exit.lines.data())};
    }
  }
  return best;
}

double BudgetBound::known(const Exit& exit, std::uint64_t bytes) {
  double seconds = 0;
  for (const Proved& proved : exit.proved) {
    seconds = std::max(seconds, proved.seconds - proved.price * static_cast<double>(bytes));
  }
  return seconds;
}

// Returns the exit's bound after a further price, and adds the line of its cut.
double BudgetBound::lower(Exit& exit, double price, std::uint64_t bytes) {
  if (!exit.moment) exit.moment = graph_.moment_of(exit.op);
  build(*exit.moment, kUnitsPerSecond, kUnitsPerSecond * price);
  exit.lines.push_back(cut(*exit.moment));
  exit.proved.push_back({static_cast<double>(flowed_) / kUnitsPerSecond +
                             price * static_cast<double>(exit.moment->exit_bytes),
                         price});
  return known(exit, bytes);
}

// An engine is forced if it does not fit even where all else takes the fewest bytes.
std::vector<double> BudgetBound::forced_seconds(std::uint64_t bytes) {
  find_exits();
  std::vector<double> forced(graph_.engine_seconds().size());
  for (const Exit& exit : exits_) {
    if (exit.engine == kNone || exit.lines[1].bytes + exit.engine_bytes <= bytes) continue;
    forced[exit.engine] = graph_.engine_seconds()[exit.engine];
  }
  return forced;
}

BudgetBound::Proof BudgetBound::proof(std::uint64_t bytes) {
  const std::vector<double> forced = forced_seconds(bytes);
  const double all_forced = std::accumulate(forced.begin(), forced.end(), 0.0);
  // Returns the seconds of the engines that other ops are forced to take.
  const auto besides = [&](const Exit& exit) {
    return exit.engine == kNone ? all_forced : all_forced - forced[exit.engine];
  };
  Proof best{.extra_seconds = all_forced};
  std::priority_queue<std::pair<double, std::size_t>> open;  // how high a bound may be, by exit
  for (std::size_t k = 0; k < exits_.size(); ++k) {
    const std::vector<Line>& lines = exits_[k].lines;
    if (exits_[k].least_bytes() > bytes) {
      return {std::numeric_limits<double>::infinity(), exits_[k].op, {}};
    }
    if (lines[0].bytes <= bytes) continue;
    const Crossing most = crossing(exits_[k], bytes);
    open.push({most.seconds + besides(exits_[k]), k});
    const double seconds = known(exits_[k], bytes) + besides(exits_[k]);
    if (seconds > best.extra_seconds) best = {seconds, exits_[k].op, lines[most.line].recomputed};
  }
  while (!open.empty() && open.top().first > best.extra_seconds * (1 + kWorthwhile)) {
    Exit& exit = exits_[open.top().second];
    const Crossing before = crossing(exit, bytes);
    const double seconds = lower(exit, before.price, bytes) + besides(exit);
    if (seconds > best.extra_seconds) {
      best = {seconds, exit.op, exit.lines[before.line].recomputed};
    }
    const Crossing after = crossing(exit, bytes);
    const std::size_t k = open.top().second;
    open.pop();
    if (after.price != before.price || after.seconds < before.seconds * (1 - kWorthwhile)) {
      open.push({after.seconds + besides(exit), k});
    }
  }
  return best;
}

BudgetBound::Least BudgetBound::least() {
  find_exits();
  const auto most = std::ranges::max_element(exits_, {}, &Exit::least_bytes);
  if (most == exits_.end()) return {};
  Least least{.bytes = most->least_bytes(),
              .op = most->op,
              .last_input = most->last_input_bytes > most->lines[1].bytes,
              .workspace_bytes = order_.ops[most->op].workspace_bytes - most->engine_bytes};
  std::vector<std::uint32_t> values;
  if (least.last_input) {
    const LastInput made = last_input_of(graph_.moment_of(least.op));
    least.workspace_bytes = made.workspace_bytes;
    values = made.values;
  } else {
    values = values_at(least.op);
  }
  for (const std::uint32_t value : values) least.values.push_back(order_.values[value].id);
  return least;
}

// Returns the values of the fewest bytes that may be alive when an op runs.
std::vector<std::uint32_t> BudgetBound::values_at(OpId exit) {
  build(graph_.moment_of(exit), 0, 1);
  const OrderProblem::Op& op = order_.ops[exit];
  std::vector<std::uint32_t> values = graph_.new_outputs(exit);
  values.insert(values.end(), op.inputs.begin(), op.inputs.end());
  for (std::uint32_t value = 0; value < order_.values.size(); ++value) {
    const bool needed = flow_.on_source_side(value_node_[value]);
    if (needed && !is_recomputed(value)) values.push_back(value);
  }
  return values;
}

}  // namespace skyline
