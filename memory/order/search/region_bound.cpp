#include "memory/order/search/region_bound.h"

#include <algorithm>
#include <limits>

namespace skyline {
namespace {

constexpr MaxFlow::Node kSource = 0, kSink = 1;
constexpr MaxFlow::Node kNoNode = std::numeric_limits<MaxFlow::Node>::max();

using Pairs = std::vector<OrderProblem::Pair>;

bool clash(const OrderProblem::Pair& a, const OrderProblem::Pair& b) {
  return a.input == b.input || a.output == b.output;
}

bool any_clash(const Pairs& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (clash(pairs[i], pairs[k])) return true;
    }
  }
  return false;
}

// Returns sets of pairs that include every set without a clash. A few pairs: all sets without a
// clash that keep growing until each other pair clashes. Many: one set of all.
std::vector<Pairs> covering_sets(const Pairs& all) {
  constexpr std::size_t kMostSets = 8;
  if (!any_clash(all)) return {all};
  std::vector<Pairs> sets = {{}};
  for (const OrderProblem::Pair& pair : all) {
    const std::size_t count = sets.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto clashes = [&](const OrderProblem::Pair& other) { return clash(pair, other); };
      if (std::ranges::none_of(sets[i], clashes)) {
        sets[i].push_back(pair);
      } else {
        Pairs other = sets[i];
        std::erase_if(other, clashes);
        other.push_back(pair);
        sets.push_back(std::move(other));
      }
    }
    if (sets.size() > kMostSets) return {all};
  }
  return sets;
}

}  // namespace

OrderCut::OrderCut(const OrderProblem& problem)
    : problem_(problem), node_(problem.ops.size(), kNoNode) {}

MaxFlow::Node OrderCut::node_of(OpId op) {
  if (node_[op] == kNoNode) {
    node_[op] = flow_.add_node();
    met_.push_back(op);
  }
  return node_[op];
}

bool OrderCut::ends_after(std::uint32_t value, OpId except, OpId& reader) const {
  reader = kNoOp;
  for (const OpId op : problem_.values[value].readers) {
    if (op == except || sides_[op] != OpSide::kAfter) continue;
    reader = op;
    if (op == at_) break;
  }
  return reader != kNoOp || problem_.values[value].kept;
}

// The value's producer is kBefore and a reader kAfter: the bytes are there in any case.
void OrderCut::add_constant(std::uint32_t value, OpId reader) {
  const std::uint64_t bytes = problem_.values[value].bytes;
  if (bytes == 0) return;
  constant_bytes_ += bytes;
  constants_.push_back({problem_.values[value].id, reader, bytes});
}

// `except` is a reader that does not count.
void OrderCut::add_value(MaxFlow::Node producer, std::uint32_t value, OpId except) {
  const OrderProblem::Value& added = problem_.values[value];
  if (added.bytes == 0) return;
  OpId last = kNoOp;
  if (ends_after(value, except, last)) {
    if (producer == kSource) return add_constant(value, last);
    paths_.push_back({flow_.add_arc(producer, kSink, added.bytes), false, value, last});
    return;
  }
  std::size_t free = 0;
  for (const OpId reader : added.readers) {
    if (reader == except || sides_[reader] != OpSide::kFree) continue;
    ++free;
    last = reader;
  }
  if (free == 0) return;
  if (free == 1) {
    paths_.push_back({flow_.add_arc(producer, node_of(last), added.bytes), false, value, last});
    return;
  }
  const MaxFlow::Node between = flow_.add_node();
  flow_.add_arc(producer, between, added.bytes);
  for (const OpId reader : added.readers) {
    if (reader == except || sides_[reader] != OpSide::kFree) continue;
    paths_.push_back(
        {flow_.add_arc(between, node_of(reader), MaxFlow::kUnlimited), false, value, reader});
  }
}

void OrderCut::add_op(OpId op) {
  const MaxFlow::Node node = node_[op];
  for (const OpId before : problem_.ops[op].predecessors) {
    if (sides_[before] != OpSide::kFree) continue;
    paths_.push_back({flow_.add_arc(node, node_of(before), MaxFlow::kUnlimited), true, op, before});
  }
  for (const std::uint32_t output : problem_.ops[op].outputs) add_value(node, output, kNoOp);
}

std::uint64_t OrderCut::solve(std::span<const OpSide> sides, OpId at,
                              std::span<const OrderProblem::Pair> pairs, std::uint64_t enough) {
  sides_ = sides;
  at_ = at;
  for (const OpId op : met_) node_[op] = kNoNode;
  met_.clear();
  paths_.clear();
  constants_.clear();
  constant_bytes_ = 0;
  flow_.reset(2);
  for (std::uint32_t value = 0; value < problem_.values.size(); ++value) {
    if (sides[problem_.values[value].producer] == OpSide::kBefore) {
      add_value(kSource, value, kNoOp);
    }
  }
  for (const OrderProblem::Pair& pair : pairs) {
    add_value(kSource, pair.input, at);
  }
  if (constant_bytes_ >= enough) return constant_bytes_;
  for (std::size_t i = 0; i < met_.size(); ++i) add_op(met_[i]);
  return constant_bytes_ + flow_.run(kSource, kSink, enough - constant_bytes_);
}

bool OrderCut::in_set(OpId op) const {
  return sides_[op] == OpSide::kBefore ||
         (sides_[op] == OpSide::kFree && node_[op] != kNoNode && flow_.on_source_side(node_[op]));
}

void OrderCut::add_flow(BoundCase& into) const {
  into.values.insert(into.values.end(), constants_.begin(), constants_.end());
  for (const Path& path : paths_) {
    const std::uint64_t bytes = flow_.flow(path.arc);
    if (bytes == 0) continue;
    if (path.need) {
      into.needs.push_back({path.from, path.to, bytes});
    } else {
      into.values.push_back({problem_.values[path.from].id, path.to, bytes});
    }
  }
}

RegionBound::RegionBound(const OrderProblem& problem)
    : problem_(problem), cut_(problem), region_(problem.ops.size()), sides_(problem.ops.size()) {
  for (const OrderProblem::Value& value : problem.values) {
    if (value.kept) kept_bytes_ += value.bytes;
  }
}

// From the start: the exit's ancestors ran before; ops outside the region did not. From the end:
// all others outside ran before; those that need the exit did not.
void RegionBound::mark_sides(OpId exit) {
  const bool start = side_ == Side::kStart;
  for (OpId op = 0; op < sides_.size(); ++op) {
    sides_[op] = region_[op] ? OpSide::kFree : start ? OpSide::kAfter : OpSide::kBefore;
  }
  sides_[exit] = OpSide::kAfter;
  stack_.assign(1, exit);
  while (!stack_.empty()) {
    const OpId op = stack_.back();
    stack_.pop_back();
    for (const OpId next : inwards(op)) {
      if (sides_[next] != OpSide::kFree) continue;
      sides_[next] = start ? OpSide::kBefore : OpSide::kAfter;
      stack_.push_back(next);
    }
  }
}

// The ops that a region with this one must hold.
const std::vector<OpId>& RegionBound::inwards(OpId op) const {
  return side_ == Side::kStart ? problem_.ops[op].predecessors : problem_.ops[op].successors;
}

// Bytes that the exit requests, whatever ran before.
std::uint64_t RegionBound::own_bytes(OpId exit, const Pairs& pairs) const {
  std::uint64_t bytes = problem_.ops[exit].workspace_bytes;
  for (const std::uint32_t output : problem_.ops[exit].outputs) {
    const bool paired = std::ranges::any_of(
        pairs, [&](const OrderProblem::Pair& pair) { return pair.output == output; });
    if (!paired) bytes += problem_.values[output].bytes;
  }
  return bytes;
}

// Pairs that clash are never all used, so that no second flow pays for their outputs.
std::uint64_t RegionBound::live_bytes(OpId exit, const Pairs& pairs, std::uint64_t enough) {
  ++flows_;
  return cut_.solve(sides_, exit, any_clash(pairs) ? Pairs{} : pairs, enough);
}

bool RegionBound::needs_more(OpId exit, std::uint64_t level) {
  mark_sides(exit);
  return std::ranges::all_of(covering_sets(problem_.ops[exit].in_place), [&](const Pairs& pairs) {
    const std::uint64_t own = own_bytes(exit, pairs);
    return own > level || live_bytes(exit, pairs, level - own + 1) > level - own;
  });
}

BoundExit RegionBound::proof_of(OpId exit) {
  BoundExit proof{.op = exit, .cases = {}};
  mark_sides(exit);
  for (const Pairs& pairs : covering_sets(problem_.ops[exit].in_place)) {
    BoundCase& added = proof.cases.emplace_back();
    added.bytes = own_bytes(exit, pairs) + live_bytes(exit, pairs);
    for (const OrderProblem::Pair& pair : pairs) added.pairs.push_back(pair.position);
    cut_.add_flow(added);
    for (OpId op = 0; op < region_.size(); ++op) {
      if (cut_.in_set(op)) added.closed_set.push_back(op);
    }
  }
  proof.bytes = std::ranges::min_element(proof.cases, {}, &BoundCase::bytes)->bytes;
  return proof;
}

BoundCertificate RegionBound::certificate_of(std::span<const OpId> exits) {
  BoundCertificate certificate{.from_end = side_ == Side::kEnd};
  for (OpId op = 0; op < region_.size(); ++op) {
    if (region_[op]) certificate.region.push_back(op);
  }
  for (const OpId exit : exits) certificate.exits.push_back(proof_of(exit));
  certificate.bytes = std::ranges::min_element(certificate.exits, {}, &BoundExit::bytes)->bytes;
  return certificate;
}

BoundCertificate RegionBound::bound_of(OpId op) {
  side_ = Side::kStart;
  region_.assign(region_.size(), true);
  region_[op] = false;
  stack_.assign(1, op);
  while (!stack_.empty()) {
    const OpId at = stack_.back();
    stack_.pop_back();
    for (const OpId after : problem_.ops[at].successors) {
      if (!region_[after]) continue;
      region_[after] = false;
      stack_.push_back(after);
    }
  }
  return certificate_of({&op, 1});
}

BoundCertificate RegionBound::bound_of_end() const {
  BoundCase all{.closed_set = program_sequence(problem_), .bytes = kept_bytes_};
  for (const OrderProblem::Value& value : problem_.values) {
    if (value.kept && value.bytes > 0) all.values.push_back({value.id, kNoOp, value.bytes});
  }
  return {.region = all.closed_set,
          .exits = {{.op = kNoOp, .cases = {all}, .bytes = kept_bytes_}},
          .bytes = kept_bytes_};
}

BoundCertificate RegionBound::bound_of_peak(OpId op) {
  BoundCertificate alone = bound_of(op);
  return alone.bytes >= kept_bytes_ ? alone : bound_of_end();
}

std::vector<OpId> RegionBound::exits() const {
  std::vector<OpId> exits;
  for (OpId op = 0; op < region_.size(); ++op) {
    const auto inside = [this](OpId next) { return region_[next] != 0; };
    if (!region_[op] && std::ranges::all_of(inwards(op), inside)) exits.push_back(op);
  }
  return exits;
}

std::optional<BoundCertificate> RegionBound::prove_above(std::uint64_t level, Side side,
                                                         std::span<const OpId> reachable,
                                                         std::uint64_t flow_limit,
                                                         const Deadline& deadline) {
  const std::uint64_t last_flow = flows_ + flow_limit;
  side_ = side;
  region_.assign(region_.size(), false);
  for (const OpId op : reachable) region_[op] = true;
  std::vector<OpId> border = exits();
  for (bool grew = true; grew; border = exits()) {
    grew = false;
    for (const OpId exit : border) {
      if (flows_ >= last_flow || passed(deadline)) return std::nullopt;
      if (needs_more(exit, level)) continue;
      region_[exit] = true;
      grew = true;
    }
  }
  if (!border.empty()) return certificate_of(border);
  return kept_bytes_ > level ? std::optional(bound_of_end()) : std::nullopt;
}

}  // namespace skyline
