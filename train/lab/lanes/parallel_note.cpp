#include "train/lab/lanes/parallel_note.h"

#include <fmt/format.h>

#include "train/lab/lanes/lane_answer.h"

namespace skyline {
namespace {

constexpr std::uint64_t kValueBytes = 1 << 20;
constexpr std::size_t kNoteLanes = 2;
const std::vector<double> kNoteSeconds(8, 1.0);

// The edges that a plan adds: "A[5] waits for A[4]".
std::vector<std::string> edges_of(const ParallelNote& note, const LanePlan& plan) {
  std::vector<std::string> edges;
  for (const LaneEvent& edge : plan.waits) {
    edges.push_back(fmt::format("{} waits for {}", note.graph.ops[edge.after].name,
                                note.graph.ops[edge.before].name));
  }
  return edges;
}

// A plan and its edges.
struct NotePlan {
  ToldPlan plan;
  std::vector<std::string> edges;
};

Rows<NotePlan> rows(const NotePlan*) {
  return {{"", "the plan", &NotePlan::plan}, {"edges", "its waits in words", &NotePlan::edges}};
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
  return note;
}

Rows<ParallelNote> rows(const ParallelNote*) {
  return {{"", "the answer", &ParallelNote::answer},
          {"plans", "for one lane, for the lanes, and safe for any", [](auto& note) {
             std::vector<NotePlan> plans;
             for (const LanePlan& row : note.answer.plans) {
               plans.push_back({{note.answer, row}, edges_of(note, row)});
             }
             return plans;
           }}};
}

std::string parallel_note_text(const ParallelNote& note) {
  std::string text = note.answer.text() + "\n";
  for (const LanePlan& row : note.answer.plans) {
    text += fmt::format("{}:", row.name);
    for (const std::string& edge : edges_of(note, row)) text += " " + edge + ";";
    text += row.waits.empty() ? " no op waits for bytes\n" : "\n";
  }
  return text;
}

std::string parallel_note_page(const ParallelNote& note) {
  return lane_page(note.answer, note.graph, kNoteSeconds, "The MXNet note's parallel operations");
}

}  // namespace skyline
