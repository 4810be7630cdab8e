#include "train/lab/mxnet/mxnet.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "memory/solvers/solvers.h"
#include "models/models.h"
#include "train/cli/byte_sizes.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

constexpr std::uint64_t kNoteBytes = 64;  // of a value of the pictures, if it says no other
constexpr std::size_t kNoteLanes = 2;
constexpr std::uint64_t kLaneValueBytes = 1 << 20;
constexpr std::uint64_t kTableWorkspace = std::uint64_t{8} << 20;
constexpr std::string_view kTableNetworks[] = {"mlp",
                                               "lenet",
                                               "alexnet",
                                               "googlenet",
                                               "resnet50",
                                               "inception-resnet",
                                               std::string_view(kSeq2Seq)};

// An op of a picture and the value that it writes.
struct NoteOp {
  std::string name;
  std::vector<std::string> reads = {};
  std::string over = {};  // an input that it may write over
  std::uint64_t bytes = kNoteBytes;
  bool resident = false;  // the user's data, or a parameter's gradient
  Phase phase = Phase::kForward;
};

// The last op's value is kept, as what the user reads.
StepGraph graph_of(const std::vector<NoteOp>& ops) {
  StepGraph graph;
  const auto position = [&](const auto& names, const std::string& name, auto key) {
    return static_cast<int>(std::ranges::find(names, name, key) - names.begin());
  };
  for (const NoteOp& written : ops) {
    const auto value = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(
        {.bytes = written.bytes,
         .category = written.phase == Phase::kForward ? Category::kActivation : Category::kGradient,
         .resident = written.resident,
         .kept = value + 1 == ops.size(),
         .storage = value});
    StepOp op{.name = written.name, .phase = written.phase, .outputs = {value}};
    for (const std::string& name : written.reads) {
      op.inputs.push_back(static_cast<ValueId>(position(ops, name, &NoteOp::name)));
    }
    if (!written.over.empty()) {
      op.in_place.push_back({position(written.reads, written.over, std::identity()), 0});
    }
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

// The regions of a plan by the box while the step runs.
class Regions {
 public:
  Regions(const StepGraph& graph, const SimulatedStep& step, const Plan& plan)
      : graph_(graph), step_(step), plan_(plan) {}

  std::vector<NoteValue> values() {
    std::vector<NoteValue> values;
    for (const BlockUse& use : step_.uses) {
      if (use.kind == BlockUse::Kind::kRead) continue;
      values.push_back({.name = graph_.ops[use.op].name, .bytes = graph_.values[use.value].bytes});
      place(use, values.back());
      values.back().box = box_after(use.op);
    }
    return values;
  }

 private:
  struct Region {
    std::uint64_t offset, bytes;
    std::string last;  // the value that lay there last
  };

  void place(const BlockUse& use, NoteValue& value) {
    const std::uint64_t offset = plan_.offsets[use.block];
    const auto known = std::ranges::find(regions_, offset, &Region::offset);
    value.region = static_cast<std::size_t>(known - regions_.begin()) + 1;
    if (known == regions_.end()) {
      regions_.push_back({offset, value.bytes, value.name});
      value.how = "new";
      return;
    }
    const std::string before = std::exchange(known->last, value.name);
    value.how = (use.kind == BlockUse::Kind::kOverwrite ? "over " : "where ") + before;
    if (use.kind == BlockUse::Kind::kRequest) value.how += " was";
    if (value.bytes > known->bytes) {
      value.how += ", grown from " + format_bytes(std::exchange(known->bytes, value.bytes));
    }
  }

  std::string box_after(OpId op) const {
    const std::vector<TraceBlock>& blocks = step_.trace.blocks;
    const Tick end = std::ranges::max(blocks, {}, &TraceBlock::upper).upper;
    const Tick next = op + 1 < step_.begins.size() ? step_.begins[op + 1] : end;
    std::string box;
    for (std::size_t region = 0; region < regions_.size(); ++region) {
      bool free = true;
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        free &= plan_.offsets[block] != regions_[region].offset || blocks[block].lower >= next ||
                blocks[block].upper < next;
      }
      if (!free) continue;
      box += fmt::format("{}{} ({})", box.empty() ? "" : ", ", region + 1,
                         format_bytes(regions_[region].bytes));
    }
    return box;
  }

  const StepGraph& graph_;
  const SimulatedStep& step_;
  const Plan& plan_;
  std::vector<Region> regions_;
};

NotePicture picture(std::string title, std::string about, const std::vector<NoteOp>& ops) {
  NotePicture made{
      .title = std::move(title), .about = std::move(about), .graph = graph_of(ops), .plan = {}};
  const SimulatedStep step = simulate_uses(made.graph);
  made.plan = plan(step.trace, "box", {.alignment = kNoteBytes}, all_planners());
  for (const StepValue& value : made.graph.values) {
    if (!value.resident) made.sum += value.bytes;
  }
  made.values = Regions(made.graph, step, made.plan).values();
  return made;
}

std::vector<NotePicture> pictures() {
  const auto backward = [](std::string name, std::vector<std::string> reads, std::uint64_t bytes,
                           std::string over = {}) {
    return NoteOp{std::move(name), std::move(reads), std::move(over), bytes,
                  false,           Phase::kBackward};
  };
  const auto weight = [](std::string name, std::vector<std::string> reads) {
    return NoteOp{std::move(name), std::move(reads), {}, kNoteBytes, true, Phase::kBackward};
  };
  return {
      picture("In place",
              "Each op is the last to read its input, so it writes over it: four values lie in the "
              "bytes of one.",
              {{"A"}, {"B", {"A"}, "A"}, {"C", {"B"}, "B"}, {"D", {"C"}, "C"}}),
      picture("The trap",
              "C may not be written over B, which D still reads: the bytes of two values are "
              "needed.",
              {{"A"}, {"B", {"A"}, "A"}, {"C", {"B"}, "B"}, {"D", {"C", "B"}, "C"}}),
      picture("Sharing",
              "Nothing is in place. C takes the bytes of A, which nothing reads any more, and E "
              "those of B. E is larger, so that their region has the larger of both sizes.",
              {{"A"}, {"B", {"A"}}, {"C", {"B"}}, {"E", {"C"}, {}, 2 * kNoteBytes}}),
      picture("A perceptron of two layers",
              "The activation, the output and the gradients of the layers' results are in place; "
              "d(act1), the gradient of the hidden values, and d(A), that of the data, lie in one "
              "region. The data A, weights and their gradients are resident.",
              {{"A", {}, {}, 8 * kNoteBytes, true},
               {"fc1", {"A"}, {}, 4 * kNoteBytes},
               {"act1", {"fc1"}, "fc1", 4 * kNoteBytes},
               {"fc2", {"act1"}},
               {"out", {"fc2"}, "fc2"},
               backward("d(fc2)", {"out"}, kNoteBytes, "out"),
               weight("d(W2)", {"d(fc2)", "act1"}),
               backward("d(act1)", {"d(fc2)"}, 4 * kNoteBytes),
               backward("d(fc1)", {"d(act1)", "act1"}, 4 * kNoteBytes, "act1"),
               weight("d(W1)", {"d(fc1)", "A"}),
               backward("d(A)", {"d(fc1)"}, 8 * kNoteBytes)}),
      picture("The box, op by op",
              "A freed region goes into the box. An op takes the smallest region of the box that "
              "is large enough; if there is none, the largest one grows; an empty box gives a new "
              "one.",
              {{"A"},
               {"B", {"A"}, {}, 2 * kNoteBytes},
               {"C", {"A"}},
               {"D", {"B"}},
               {"E", {"C", "D"}, {}, 3 * kNoteBytes},
               {"F", {"E"}}})};
}

// Each op reads what these write, counted from 1, and writes one value.
NoteLanes on_lanes(std::string title, std::string about,
                   const std::vector<std::vector<int>>& reads) {
  std::vector<NoteOp> ops;
  const auto name = [](std::size_t k) { return fmt::format("A[{}]", k); };
  for (const std::vector<int>& of : reads) {
    ops.push_back({.name = name(ops.size() + 1), .bytes = kLaneValueBytes});
    for (const int k : of) ops.back().reads.push_back(name(static_cast<std::size_t>(k)));
  }
  NoteLanes note{
      .title = std::move(title), .about = std::move(about), .graph = graph_of(ops), .answer = {}};
  note.answer = lane_answer(note.graph, note.seconds(), kNoteLanes, "one for each op");
  return note;
}

NoteCosts costs_of(std::string_view network) {
  const TrainOptions training{.model = std::string(network)};
  const bool text = translates(training.model);
  const std::int64_t words = training.text.vocab_size.value_or(kSeq2SeqWords);
  const DryRunOptions options{.model = training.model,
                              .shape = text ? ModelShape() : find_model(network).shape,
                              .translation = seq2seq_shape(training.text, words, words),
                              .optimizer = optimizer_options(resolved(training)),
                              .emulate = {.convolution_workspace_bytes = kTableWorkspace}};
  DryRun program = make_dry_run(options);
  const StepGraph graph =
      program.foresee(options.batch_size, options.mode, DryRun::Graph::kOn).step.graph;
  return {.network = options.model,
          .batch_size = options.batch_size,
          .strategies = strategies_of(program, options, graph, std::string(kDefaultPlanner))};
}

}  // namespace

const NoteValue& NotePicture::value(std::string_view name) const {
  const auto found = std::ranges::find(values, name, &NoteValue::name);
  if (found == values.end()) throw std::out_of_range(fmt::format("no value is called {}", name));
  return *found;
}

std::optional<std::uint64_t> NoteCosts::planned(std::string_view strategy) const {
  const auto found = std::ranges::find(strategies, strategy, &Strategy::name);
  return found == strategies.end() ? std::nullopt : std::optional(found->plan.peak);
}

double NoteCosts::saved() const {
  return 1 - static_cast<double>(*planned("both")) / static_cast<double>(*planned("none"));
}

std::vector<double> NoteLanes::seconds() const { return std::vector<double>(graph.ops.size(), 1); }

NoteLanes parallel_note() {
  return on_lanes("Parallel operations",
                  "A[1] feeds two branches, which A[8] joins. The plan for one lane lets A[5] take "
                  "the bytes of A[3], so the second branch waits for A[4], which reads them.",
                  {{}, {1}, {2}, {3}, {1}, {5}, {6}, {4, 7}});
}

NoteLanes colours_note() {
  return on_lanes("Path colours",
                  "On one lane, on two, in any order and by path colours this step takes four "
                  "different plans. In any order A[5] may have the bytes of A[3], because A[4] has "
                  "read them; colours forbid it, because A[3] is on another path.",
                  {{}, {1}, {1}, {2, 3}, {4}, {1}, {2}, {5, 6, 7}});
}

MxnetReproduction reproduce_mxnet() {
  MxnetReproduction reproduction{.pictures = pictures(),
                                 .lanes = {parallel_note(), colours_note()},
                                 .workspace_bytes = kTableWorkspace,
                                 .costs = {}};
  for (const std::string_view network : kTableNetworks) {
    reproduction.costs.push_back(costs_of(network));
  }
  return reproduction;
}

}  // namespace skyline
