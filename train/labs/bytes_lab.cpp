#include <fmt/format.h>

#include <array>
#include <exception>
#include <map>
#include <string>

#include "framework/philox.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/labs/lab.h"

namespace skyline {
namespace {

struct NamedBytes {
  std::string_view name;
  std::int64_t GptBytes::*bytes;
};
constexpr NamedBytes kLines[] = {
    {"parameters", &GptBytes::parameters}, {"moments", &GptBytes::moments},
    {"embedding", &GptBytes::embedding},   {"additions", &GptBytes::additions},
    {"layer_norm", &GptBytes::layer_norm}, {"linear", &GptBytes::linear},
    {"attention", &GptBytes::attention},   {"gelu", &GptBytes::gelu}};

// The loss takes panels of 128 rows for so many words, so there are no logits.
GptNumbers drawn(std::uint64_t seed, std::uint64_t number) {
  const auto random = Philox{seed}(number, 0), more = Philox{seed}(number, 1);
  const std::int64_t heads = 1 + random[0] % 4, length = 64 * (1 + random[1] % 4);
  return {.batch = 4 + random[2] % 5,
          .length = length,
          .words = 2000 + random[3] % 1000,
          .positions = length + more[0] % 100,
          .layers = 1 + more[1] % 5,
          .heads = heads,
          .units = heads * 8 * (1 + more[2] % 4)};
}

// The table of a step that is run without memory.
GptBytes derived(const GptNumbers& n) {
  const DryRunFacts facts = dry_run({.model = "gpt2",
                                     .gpt = {.words = n.words,
                                             .positions = n.positions,
                                             .layers = n.layers,
                                             .heads = n.heads,
                                             .units = n.units},
                                     .window_length = static_cast<std::size_t>(n.length),
                                     .batch_size = n.batch,
                                     .optimizer = {.name = "adamw"},
                                     .step = {.order = std::string(kProgramOrder)}});
  const StepGraph& graph = facts.step.graph;
  std::map<ValueId, const StepOp*> writers;  // in forward
  std::map<std::string_view, std::int64_t> kept;
  for (const StepOp& op : graph.ops) {
    if (op.phase == Phase::kForward) {
      for (const ValueId output : op.outputs) writers.emplace(graph.values[output].storage, &op);
      continue;
    }
    for (const ValueId input : op.inputs) {
      const ValueId storage = graph.values[input].storage;
      const auto written = writers.extract(storage);  // counts once
      if (written.empty() || graph.values[storage].resident) continue;
      const StepOp& writer = *written.mapped();
      kept[writer.layer == "wpe" ? "embedding" : std::string_view(writer.name)] +=
          static_cast<std::int64_t>(graph.values[storage].bytes);
    }
  }
  constexpr std::int64_t kBytes = sizeof(float);
  return {.parameters = kBytes * facts.parameters,
          .moments = 2 * kBytes * facts.parameters,
          .embedding = kept["embedding"],
          .additions = kept["add"],
          .layer_norm = kept["layer_norm"],
          .linear = kept["linear"],
          .attention = kept["attention"],
          .gelu = kept["gelu"]};
}

}  // namespace

LabScore score_bytes(const BytesWriter& writer, std::uint64_t seed) {
  constexpr std::uint64_t kCases = 10;
  std::array<std::string, std::size(kLines)> wrong;  // the first finding of each line
  std::string fault;
  for (std::uint64_t number = 0; number < kCases && fault.empty(); ++number) {
    const GptNumbers n = drawn(seed, number);
    const GptBytes expected = derived(n);
    GptBytes given;
    try {
      given = writer(n);
    } catch (const std::exception& error) {
      fault = fmt::format("the function threw: {}", error.what());
    }
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      const auto [name, bytes] = kLines[i];
      if (!wrong[i].empty() || given.*bytes == expected.*bytes) continue;
      wrong[i] = fmt::format("B {} T {} V {} L {} NH {} C {}: {} instead of {}", n.batch, n.length,
                             n.words, n.layers, n.heads, n.units, given.*bytes, expected.*bytes);
    }
  }
  LabScore score;
  bool all = fault.empty();
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const bool right = fault.empty() && wrong[i].empty();
    all = all && right;
    score.marks.push_back(
        mark(std::string(kLines[i].name), 10, right, fault.empty() ? wrong[i] : fault));
  }
  score.marks.push_back(mark("all lines", 20, all));
  return score;
}

}  // namespace skyline
