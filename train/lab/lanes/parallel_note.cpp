#include "train/lab/lanes/parallel_note.h"

#include <fmt/format.h>

#include "train/lab/lanes/lane_answer.h"

namespace skyline {
namespace {

constexpr std::uint64_t kValueBytes = 1 << 20;
constexpr std::size_t kNoteLanes = 2;
const std::vector<double> kNoteSeconds(8, 1.0);

std::string edge_text(const StepGraph& graph, const LaneEvent& edge) {
  return fmt::format("{} waits for {}", graph.ops[edge.after].name, graph.ops[edge.before].name);
}

}  // namespace

StepGraph parallel_note_graph() {
  // What each A reads, counted from 1.
  const std::vector<std::vector<ValueId>> reads = {{}, {1}, {2}, {3}, {1}, {5}, {6}, {4, 7}};
  StepGraph graph;
  for (ValueId value = 0; value < reads.size(); ++value) {
    graph.values.push_back({.bytes = kValueBytes,
                            .category = Category::kActivation,
                            .kept = value + 1 == reads.size(),
                            .storage = value});
    StepOp op{.name = fmt::format("A[{}]", value + 1), .outputs = {value}};
    for (const ValueId read : reads[value]) op.inputs.push_back(read - 1);
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

ParallelNote reproduce_parallel_note() {
  ParallelNote note;
  note.answer = lane_answer(note.graph, kNoteSeconds, kNoteLanes, "one for each op");
  for (LanePlan& row : note.answer.plans) {
    row.edges.emplace();
    for (const LaneEvent& edge : row.waits) row.edges->push_back(edge_text(note.graph, edge));
  }
  return note;
}

Rows<ParallelNote> rows(const ParallelNote*) { return {{"", "the answer", &ParallelNote::answer}}; }

std::string parallel_note_text(const ParallelNote& note) {
  std::string text = note.answer.text() + "\n";
  for (const LanePlan& row : note.answer.plans) {
    text += fmt::format("{}:", row.name);
    for (const std::string& edge : *row.edges) text += " " + edge + ";";
    text += row.waits.empty() ? " no op waits for bytes\n" : "\n";
  }
  return text;
}

std::string parallel_note_page(const ParallelNote& note) {
  return lane_page(note.answer, note.graph, kNoteSeconds, "The MXNet note's parallel operations");
}

}  // namespace skyline
