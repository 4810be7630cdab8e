// Executes the graph and searches paths on its own: code shared with the planners would share their
// mistakes.
#include "memory/lanes/lane_checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/order/order_checker.h"

namespace skyline {
namespace {

struct CellUse {
  OpId op = 0;
  bool writes = false;
};

// Bytes with one content at a time: a request's block, or a resident value.
struct Cell {
  std::string name;
  std::optional<std::size_t> block;  // none: resident
  OpId requester = 0;
  bool kept = false;
  std::uint64_t begin = 0, end = 0;  // of a block's bytes
  std::vector<CellUse> uses;         // in the program's sequence
};

// Lists who uses which bytes, by executing the step as StepOp describes.
class LaneExecution {
 public:
  LaneExecution(const StepGraph& graph, const Plan& plan)
      : graph_(graph, {}), plan_(plan), cell_(graph.values.size()), reads_(graph.values.size()) {
    for (const StepOp& op : graph.ops) {
      for (const ValueId input : op.inputs) ++reads_[graph_.owner(input)];
    }
    for (OpId op = 0; op < graph.ops.size(); ++op) execute(op);
    if (blocks_ != plan.offsets.size()) {
      throw std::invalid_argument(fmt::format("lanes: the plan has {} blocks, but the step has {}",
                                              plan.offsets.size(), blocks_));
    }
  }

  const CheckedGraph& graph() const { return graph_; }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  void execute(OpId op) {
    const StepOp& step = graph_.graph.ops[op];
    for (const ValueId input : step.inputs) use(cell_of(graph_.owner(input)), op, false);
    for (const InPlacePair& pair : step.in_place) write_over(op, pair);
    for (const ValueId output : step.outputs) {
      if (graph_.owner(output) != output) continue;
      if (graph_.graph.values[output].resident) use(cell_of(output), op, true);
      if (!graph_.values[output].counted || cell_[output]) continue;
      cell_[output] =
          request(op, graph_.graph.values[output].bytes, fmt::format("value {}", output));
      cells_.back().kept = graph_.values[output].kept;
    }
    if (step.workspace_bytes > 0) {
      request(op, step.workspace_bytes, fmt::format("the workspace of {}", graph_.name(op)));
    }
    for (const ValueId input : step.inputs) --reads_[graph_.owner(input)];
  }

  void write_over(OpId op, const InPlacePair& pair) {
    if (!graph_.can_use(op, pair)) return;
    const ValueId input = graph_.input_of(op, pair), output = graph_.output_of(op, pair);
    if (cell_[output] || !cell_[input] || reads_[input] != 1) return;
    cell_[output] = std::exchange(cell_[input], std::nullopt);
    cells_[*cell_[output]].kept = graph_.values[output].kept;
    use(*cell_[output], op, true);
  }

  std::size_t cell_of(ValueId owner) {
    if (!cell_[owner]) {
      cell_[owner] = cells_.size();
      cells_.push_back({.name = fmt::format("resident value {}", owner)});
    }
    return *cell_[owner];
  }

  void use(std::size_t cell, OpId op, bool writes) { cells_[cell].uses.push_back({op, writes}); }

  std::size_t request(OpId op, std::uint64_t bytes, std::string name) {
    const std::size_t block = blocks_++;
    const std::uint64_t begin = block < plan_.offsets.size() ? plan_.offsets[block] : 0;
    // 0 bytes share none, unless sizes are rounded.
    const std::uint64_t rounded = std::max<std::uint64_t>(bytes, plan_.alignment > 1 ? 1 : 0);
    const std::uint64_t units = (rounded + plan_.alignment - 1) / plan_.alignment;
    cells_.push_back({.name = std::move(name),
                      .block = block,
                      .requester = op,
                      .begin = begin,
                      .end = begin + units * plan_.alignment,
                      .uses = {{op, true}}});
    return cells_.size() - 1;
  }

  CheckedGraph graph_;
  const Plan& plan_;
  std::vector<Cell> cells_;
  std::vector<std::optional<std::size_t>> cell_;  // by value that owns bytes: while it is there
  std::vector<std::size_t> reads_;                // still to come, by value
  std::size_t blocks_ = 0;
};

// Op `first` must be done before another one begins.
struct Demand {
  OpId first = 0;
  std::size_t used = 0, taken = 0;  // cells; the same: one value
};

class LaneCheck {
 public:
  LaneCheck(const StepGraph& graph, const Plan& plan, const Lanes& lanes,
            std::span<const LaneEvent> events)
      : step_(graph, plan), waits_(graph.ops.size()), demands_(graph.ops.size()) {
    if (lanes.size() != graph.ops.size()) {
      throw std::invalid_argument(fmt::format("lanes: got the lanes of {} ops, expected {}",
                                              lanes.size(), graph.ops.size()));
    }
    add_waits(lanes, events);
    for (std::size_t cell = 0; cell < step_.cells().size(); ++cell) {
      add_demands_of_content(cell);
      for (std::size_t early = 0; early < cell; ++early) add_demands_of_sharing(early, cell);
    }
  }

  LaneVerdict run() {
    if (!kept_fault_.reason.empty()) return kept_fault_;
    for (OpId op = 0; op < demands_.size(); ++op) {
      if (demands_[op].empty()) continue;
      const std::vector<char> done = ancestors(op);
      for (const Demand& demand : demands_[op]) {
        if (!done[demand.first]) return fault(demand, op);
      }
    }
    return {.safe = true};
  }

 private:
  void add_waits(const Lanes& lanes, std::span<const LaneEvent> events) {
    std::unordered_map<LaneId, OpId> last;
    for (OpId op = 0; op < lanes.size(); ++op) {
      if (const auto found = last.find(lanes[op]); found != last.end()) {
        waits_[op].push_back(found->second);
      }
      last[lanes[op]] = op;
    }
    for (const LaneEvent& event : events) {
      if (event.before >= event.after || event.after >= lanes.size()) {
        throw std::invalid_argument(
            fmt::format("lanes: an event leads from op {} to op {}, expected a later one of {} ops",
                        event.before, event.after, lanes.size()));
      }
      waits_[event.after].push_back(event.before);
    }
  }

  // Reads wait for the write before, writes for all uses since the write before, and for that.
  void add_demands_of_content(std::size_t cell) {
    std::optional<OpId> writer;
    std::vector<OpId> readers;
    const auto demand = [&](OpId first, OpId second) {
      if (first != second) demands_[second].push_back({first, cell, cell});
    };
    for (const CellUse& use : step_.cells()[cell].uses) {
      if (writer) demand(*writer, use.op);
      if (!use.writes) {
        readers.push_back(use.op);
        continue;
      }
      for (const OpId reader : std::exchange(readers, {})) demand(reader, use.op);
      writer = use.op;
    }
  }

  // Cells of blocks are in the sequence of requests.
  void add_demands_of_sharing(std::size_t early, std::size_t late) {
    const Cell &used = step_.cells()[early], &taken = step_.cells()[late];
    if (!used.block || !taken.block) return;
    if (std::max(used.begin, taken.begin) >= std::min(used.end, taken.end)) return;
    for (const CellUse& use : used.uses) demands_[taken.requester].push_back({use.op, early, late});
    if (!used.kept || !kept_fault_.reason.empty()) return;
    kept_fault_ = {.reason = fmt::format("{}, which is kept, and {} {}", used.name, taken.name,
                                         shared_bytes(used, taken)),
                   .first = used.requester,
                   .second = taken.requester};
  }

  // Returns which ops are done when the op begins.
  std::vector<char> ancestors(OpId op) const {
    std::vector<char> met(waits_.size());
    std::vector<OpId> open = {op};
    while (!open.empty()) {
      const OpId next = open.back();
      open.pop_back();
      for (const OpId before : waits_[next]) {
        if (!std::exchange(met[before], 1)) open.push_back(before);
      }
    }
    return met;
  }

  static std::string shared_bytes(const Cell& used, const Cell& taken) {
    return fmt::format("share bytes [{}, {})", std::max(used.begin, taken.begin),
                       std::min(used.end, taken.end));
  }

  LaneVerdict fault(const Demand& demand, OpId second) const {
    const Cell &used = step_.cells()[demand.used], &taken = step_.cells()[demand.taken];
    LaneVerdict verdict{.first = demand.first, .second = second};
    const std::string first = step_.graph().name(demand.first), then = step_.graph().name(second);
    if (demand.first >= second) {
      verdict.reason = fmt::format("{} still uses {} when {} requests {}, and they {}", first,
                                   used.name, then, taken.name, shared_bytes(used, taken));
    } else if (demand.used == demand.taken) {
      verdict.reason =
          fmt::format("nothing makes {} wait for {}, but both use {}", then, first, used.name);
    } else {
      verdict.reason = fmt::format("nothing makes {} wait for {}, but {} and {} {}", then, first,
                                   used.name, taken.name, shared_bytes(used, taken));
    }
    return verdict;
  }

  LaneExecution step_;
  std::vector<std::vector<OpId>> waits_;      // by op: its lane's op before, and events
  std::vector<std::vector<Demand>> demands_;  // by op
  LaneVerdict kept_fault_;
};

}  // namespace

LaneVerdict check_lanes(const StepGraph& graph, const Plan& plan, const Lanes& lanes,
                        std::span<const LaneEvent> events) {
  return LaneCheck(graph, plan, lanes, events).run();
}

}  // namespace skyline
