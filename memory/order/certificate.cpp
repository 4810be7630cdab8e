#include "memory/order/certificate.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "memory/order/order_checker.h"

namespace skyline {
namespace {

using Positions = std::vector<std::uint32_t>;  // of in-place pairs

// Adds without wrapping. Returns false if the sum is too large.
bool add(std::uint64_t& sum, std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint64_t>::max() - sum) return false;
  sum += bytes;
  return true;
}

const InPlacePair& pair_at(const CheckedGraph& graph, OpId op, std::uint32_t position) {
  return graph.graph.ops[op].in_place[position];
}

// Returns two pairs that share an input or an output.
std::optional<std::pair<std::uint32_t, std::uint32_t>> find_clash(const CheckedGraph& graph,
                                                                  OpId op, const Positions& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t k = i + 1; k < pairs.size(); ++k) {
      const InPlacePair &a = pair_at(graph, op, pairs[i]), &b = pair_at(graph, op, pairs[k]);
      if (graph.input_of(op, a) == graph.input_of(op, b) ||
          graph.output_of(op, a) == graph.output_of(op, b)) {
        return std::pair(pairs[i], pairs[k]);
      }
    }
  }
  return std::nullopt;
}

// The ops that must have run when an exit does, and those that may have. By op.
struct Done {
  std::vector<char> must, may;
};

// Checks one case of an exit.
class CaseCheck {
 public:
  CaseCheck(const CheckedGraph& graph, const Done& done, OpId exit, const BoundCase& proof)
      : graph_(graph),
        may_(done.may),
        must_(done.must),
        exit_(exit),
        proof_(proof),
        in_(may_.size()),
        out_(may_.size()) {}

  std::string fault() {
    std::string found = fault_of_pairs();
    if (found.empty()) found = fault_of_values();
    if (found.empty()) found = fault_of_needs();
    if (found.empty()) found = fault_of_conservation();
    if (found.empty()) found = fault_of_set();
    return found.empty() ? found : fmt::format("{}: {}", graph_.name(exit_), found);
  }

 private:
  std::string fault_of_pairs() {
    for (const std::uint32_t position : proof_.pairs) {
      if (exit_ == kNoOp || position >= graph_.graph.ops[exit_].in_place.size() ||
          !graph_.can_use(exit_, pair_at(graph_, exit_, position))) {
        return fmt::format("its in-place pair {} cannot be used", position);
      }
    }
    if (find_clash(graph_, exit_, proof_.pairs)) return {};  // no second capacity
    for (const std::uint32_t position : proof_.pairs) {
      twice_.push_back(graph_.input_of(exit_, pair_at(graph_, exit_, position)));
    }
    return {};
  }

  bool carries_twice(ValueId value) const { return std::ranges::count(twice_, value) > 0; }

  std::string fault_of_value(const ValueFlow& flow) const {
    if (flow.value >= graph_.values.size() || !graph_.values[flow.value].counted) {
      return "no bytes of this step";
    }
    const CheckedGraph::Value& value = graph_.values[flow.value];
    if (!may_[value.producer]) return "its producer cannot run before";
    if (flow.reader == kNoOp) return value.kept ? "" : "it is not kept to the end";
    const bool reads = std::ranges::count(value.readers, flow.reader, &CheckedGraph::Reads::op) > 0;
    return reads ? "" : "that op does not read it";
  }

  static std::string shown(const ValueFlow& flow) {
    const std::string to = flow.reader == kNoOp ? "the end" : fmt::format("op {}", flow.reader);
    return fmt::format("the flow of value {} to {}", flow.value, to);
  }

  std::string fault_of_values() {
    std::vector<std::uint64_t> to_exit(graph_.values.size()), to_others(graph_.values.size());
    for (const ValueFlow& flow : proof_.values) {
      const std::string found = fault_of_value(flow);
      if (!found.empty()) return fmt::format("{}: {}", shown(flow), found);
      const std::uint64_t most = graph_.values[flow.value].bytes;
      const bool apart = carries_twice(flow.value) && flow.reader == exit_;
      std::uint64_t& sum = apart ? to_exit[flow.value] : to_others[flow.value];
      if (!add(sum, flow.bytes) || sum > most) {
        return fmt::format("{} exceeds its {} bytes", shown(flow), most);
      }
      if (!add(out_[graph_.values[flow.value].producer], flow.bytes) ||
          (flow.reader != kNoOp && !add(in_[flow.reader], flow.bytes))) {
        return fmt::format("{} is too large to add", shown(flow));
      }
    }
    return {};
  }

  std::string fault_of_needs() {
    for (const NeedFlow& flow : proof_.needs) {
      const std::string arc =
          fmt::format("the flow from op {} to its predecessor op {}", flow.op, flow.predecessor);
      if (flow.op >= may_.size() || !may_[flow.op]) return arc + ": it cannot run before";
      if (std::ranges::count(graph_.needs[flow.op], flow.predecessor) == 0) {
        return fmt::format("{}: it does not need that op", arc);
      }
      if (!add(out_[flow.op], flow.bytes) || !add(in_[flow.predecessor], flow.bytes)) {
        return arc + " is too large to add";
      }
    }
    return {};
  }

  // Ops that may have run pass on what they receive; those that must have send the flow's value.
  std::string fault_of_conservation() {
    std::uint64_t sent = 0, returned = 0;
    for (OpId op = 0; op < may_.size(); ++op) {
      if (must_[op]) {
        if (!add(sent, out_[op]) || !add(returned, in_[op])) return "the flow is too large to add";
      } else if (may_[op] && in_[op] != out_[op]) {
        return fmt::format("{} receives {} bytes but passes on {}", graph_.name(op), in_[op],
                           out_[op]);
      }
    }
    if (returned > sent) return "the flow runs backwards";
    std::uint64_t bytes = sent - returned;
    if (!add(bytes, own_bytes())) return "the flow is too large to add";
    if (bytes == proof_.bytes) return {};
    return fmt::format("the flow proves {} bytes, not {}", bytes, proof_.bytes);
  }

  // Bytes that the exit requests, whatever ran before.
  std::uint64_t own_bytes() const {
    if (exit_ == kNoOp) return 0;
    std::uint64_t bytes = graph_.workspaces[exit_];
    for (const ValueId output : graph_.outputs(exit_)) {
      const bool paired = std::ranges::any_of(proof_.pairs, [&](std::uint32_t position) {
        return graph_.output_of(exit_, pair_at(graph_, exit_, position)) == output;
      });
      if (!paired) bytes += graph_.values[output].bytes;
    }
    return bytes;
  }

  // The set that explains the bound must be possible and need exactly that much.
  std::string fault_of_set() const {
    std::vector<char> done(may_.size());
    for (const OpId op : proof_.closed_set) {
      if (op >= may_.size() || !may_[op]) return fmt::format("op {} cannot run before", op);
      done[op] = true;
    }
    for (OpId op = 0; op < may_.size(); ++op) {
      const bool must = must_[op] && !done[op];
      if (must) return fmt::format("its set lacks {}, which must run before", graph_.name(op));
      for (const OpId before : graph_.needs[op]) {
        if (!done[op] || done[before]) continue;
        return fmt::format("its set holds {} but not {}, which that needs", graph_.name(op),
                           graph_.name(before));
      }
    }
    std::uint64_t bytes = own_bytes();
    for (ValueId value = 0; value < graph_.values.size(); ++value) bytes += alive(value, done);
    if (bytes == proof_.bytes) return {};
    return fmt::format("its set needs {} bytes, not {}", bytes, proof_.bytes);
  }

  std::uint64_t alive(ValueId id, const std::vector<char>& done) const {
    const CheckedGraph::Value& value = graph_.values[id];
    if (!value.counted || !done[value.producer]) return 0;
    const auto missing = [&](OpId except) {
      return std::ranges::any_of(value.readers, [&](const CheckedGraph::Reads& reads) {
        return reads.op != except && !done[reads.op];
      });
    };
    const std::uint64_t once = value.kept || missing(kNoOp) ? value.bytes : 0;
    return carries_twice(id) && missing(exit_) ? once + value.bytes : once;
  }

  const CheckedGraph& graph_;
  const std::vector<char>&may_, &must_;
  const OpId exit_;
  const BoundCase& proof_;
  std::vector<std::uint64_t> in_, out_;  // bytes, by op
  std::vector<ValueId> twice_;           // inputs of the case's pairs
};

// Every set of usable pairs without a clash must lie within a case. If the pairs at hand do not,
// such a set lacks one or the other of two that clash.
std::string fault_of_cover(const CheckedGraph& graph, const BoundExit& exit) {
  constexpr int kMostSteps = 4096;
  Positions usable;
  const std::size_t count = exit.op == kNoOp ? 0 : graph.graph.ops[exit.op].in_place.size();
  for (std::uint32_t position = 0; position < count; ++position) {
    if (graph.can_use(exit.op, pair_at(graph, exit.op, position))) usable.push_back(position);
  }
  std::vector<Positions> open = {usable};
  for (int steps = 0; !open.empty(); ++steps) {
    const Positions pairs = std::move(open.back());
    open.pop_back();
    const bool covered = std::ranges::any_of(exit.cases, [&](const BoundCase& proof) {
      return std::ranges::all_of(pairs, [&](std::uint32_t position) {
        return std::ranges::count(proof.pairs, position) > 0;
      });
    });
    if (covered) continue;
    const auto clash = find_clash(graph, exit.op, pairs);
    if (!clash || steps == kMostSteps) {
      return fmt::format("{}: no case covers its in-place pairs", graph.name(exit.op));
    }
    for (const std::uint32_t lacking : {clash->first, clash->second}) {
      open.push_back(pairs);
      std::erase(open.back(), lacking);
    }
  }
  return {};
}

// All ops precede the end of the step.
std::vector<char> ancestors_of(const CheckedGraph& graph, OpId op) {
  std::vector<char> found(graph.needs.size(), op == kNoOp);
  if (op == kNoOp) return found;
  std::vector<OpId> open = {op};
  while (!open.empty()) {
    const OpId at = open.back();
    open.pop_back();
    for (const OpId before : graph.needs[at]) {
      if (std::exchange(found[before], true)) continue;
      open.push_back(before);
    }
  }
  return found;
}

// From the end: all others outside the region must have run, and whatever does not need the exit
// may have. What an op needs stands before it in the graph.
Done done_from_end(const CheckedGraph& graph, const std::vector<char>& region, OpId exit) {
  Done done{.must = std::vector<char>(region.size()),
            .may = std::vector<char>(region.size(), true)};
  for (OpId op = 0; op < region.size(); ++op) {
    const auto waits = [&](OpId before) { return done.may[before] == 0; };
    if (op == exit || std::ranges::any_of(graph.needs[op], waits)) done.may[op] = false;
    done.must[op] = op != exit && !region[op];
  }
  return done;
}

std::string fault_of_exit(const CheckedGraph& graph, bool from_end, const std::vector<char>& region,
                          const BoundExit& exit) {
  const Done done = from_end ? done_from_end(graph, region, exit.op)
                             : Done{.must = ancestors_of(graph, exit.op), .may = region};
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const BoundCase& proof : exit.cases) {
    const std::string found = CaseCheck(graph, done, exit.op, proof).fault();
    if (!found.empty()) return found;
    least = std::min(least, proof.bytes);
  }
  if (std::string found = fault_of_cover(graph, exit); !found.empty()) return found;
  if (exit.bytes == least) return {};
  return fmt::format("{} claims {} bytes, but its cases prove {}", graph.name(exit.op), exit.bytes,
                     least);
}

// Returns the ops outside the region that need only ops inside, or that only ops inside need.
std::vector<char> ways_out(const CheckedGraph& graph, bool from_end,
                           const std::vector<char>& region) {
  std::vector<char> ways(region.size());
  for (OpId op = 0; op < region.size(); ++op) {
    ways[op] = !region[op];
    for (const OpId before : graph.needs[op]) {
      if (region[op] || region[before]) continue;
      ways[from_end ? before : op] = false;
    }
  }
  return ways;
}

// The exits are exactly the ways out. The end is one if there is no other, but not from the end.
std::string fault_of_exits(const CheckedGraph& graph, bool from_end,
                           const std::vector<char>& region, const std::vector<BoundExit>& exits) {
  const std::vector<char> ways = ways_out(graph, from_end, region);
  const bool whole = !from_end && std::ranges::find(region, 0) == region.end();
  std::vector<int> listed(region.size());
  int ends = 0;
  for (const BoundExit& exit : exits) {
    const bool end = exit.op == kNoOp;
    if (!end && exit.op >= region.size()) return fmt::format("exit {} is no op", exit.op);
    if (end && !whole) return "the end of the step is no way out of the region";
    if (++(end ? ends : listed[exit.op]) > 1) {
      return fmt::format("{} is an exit twice", graph.name(exit.op));
    }
  }
  for (OpId op = 0; op < region.size(); ++op) {
    if (ways[op] && listed[op] == 0) {
      return fmt::format("{} leaves the region, but is no exit", graph.name(op));
    }
    if (!ways[op] && listed[op] > 0) {
      return fmt::format("{} is no way out of the region", graph.name(op));
    }
  }
  return {};
}

std::string fault_of_region(const CheckedGraph& graph, const BoundCertificate& certificate,
                            std::vector<char>& region) {
  for (const OpId op : certificate.region) {
    if (op >= region.size()) return fmt::format("the region holds op {}, which does not exist", op);
    region[op] = true;
  }
  for (OpId op = 0; op < region.size(); ++op) {
    for (const OpId before : graph.needs[op]) {
      if (certificate.from_end ? region[before] <= region[op] : region[op] <= region[before]) {
        continue;
      }
      return certificate.from_end ? fmt::format("the region holds {} but not {}, which needs that",
                                                graph.name(before), graph.name(op))
                                  : fmt::format("the region holds {} but not {}, which that needs",
                                                graph.name(op), graph.name(before));
    }
  }
  return {};
}

}  // namespace

std::string fault_of_certificate(const CheckedGraph& graph, const BoundCertificate& certificate) {
  if (certificate.exits.empty()) {
    return certificate.bytes == 0 ? "" : "the certificate has no exits and proves nothing";
  }
  std::vector<char> region(graph.needs.size());
  const bool from_end = certificate.from_end;
  std::string found = fault_of_region(graph, certificate, region);
  if (found.empty()) found = fault_of_exits(graph, from_end, region, certificate.exits);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const BoundExit& exit : certificate.exits) {
    if (found.empty()) found = fault_of_exit(graph, from_end, region, exit);
    least = std::min(least, exit.bytes);
  }
  if (!found.empty() || certificate.bytes == least) return found;
  return fmt::format("the certificate claims {} bytes, but its exits prove {}", certificate.bytes,
                     least);
}

}  // namespace skyline
