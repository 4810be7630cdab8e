#pragma once

#include <cmath>
#include <string>

#include "train/report/report.h"

namespace skyline {

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

// Three blocks: an activation, a workspace above it, and later a gradient in the place of the
// workspace.
inline ReportData small_report() {
  ReportData data;
  data.title = "mlp on shapes";
  data.facts = {{"model", "mlp"}, {"batch size", "64"}};
  data.trace.blocks = {{0, 5, 4096}, {1, 2, 1000}, {3, 4, 1024}};
  data.trace.tags = {{"linear", "fc1", Phase::kForward, Category::kActivation},
                     {"linear", "fc1", Phase::kForward, Category::kWorkspace},
                     {"linear", "fc2", Phase::kBackward, Category::kGradient}};
  data.plan = {.offsets = {0, 4096, 4096},
               .peak = 5120,
               .lower_bound = 5120,
               .planner = "best-fit",
               .proved_optimal = true,
               .seconds = 0.25};
  data.curves = {{"best-fit-pool", {{0, 8192, 4096}, {3, 9216, 5120}}},
                 {"planned", {{0, 5120, 0}}}};
  data.resident_bytes = 512;
  data.comparison = {{.allocator = "best-fit-pool", .peak_reserved_bytes = 9216, .gap = 0.8},
                     {.allocator = "planned",
                      .peak_reserved_bytes = 9216,
                      .peak_reserved_after_switch_bytes = 5120,
                      .gap = 0.0}};
  const StepSeries losses = StepSeries::of(std::vector<double>{2.5, 1.25});
  data.losses = {{"best-fit-pool", losses}, {"planned", losses}};
  data.bit_equal = true;
  return data;
}

// The first op writes block 0 with the help of the workspace; the second reads it and writes the
// gradient.
inline StepStory small_story() {
  using Kind = BlockUse::Kind;
  return {.ops = {{"linear of fc1", 0, 0.25}, {"linear_grad of fc2", 3, 0.5}},
          .uses = {{0, 0, Kind::kRequest, 0},
                   {1, 0, Kind::kRequest, BlockUse::kNoValue},
                   {0, 1, Kind::kRead, 0},
                   {2, 1, Kind::kRequest, 1}},
          .reasons = {"new: input 0 is <resident>", "", "new: linear_grad declares no input"},
          .strategies = {{"none", {5120, 5632}}, {"both", {5120, 5120}}},
          .box = {.offsets = {0, 4096, 4096}, .peak = 5120},
          .seconds_source = "by hand"};
}

// Steps of varying lengths; one allocator runs out of memory half-way.
inline StepsChart steps_chart(std::size_t steps) {
  StepsChart chart{.lines = {{.name = "best-fit-pool"}, {.name = "planned"}},
                   .lengths = {{.name = "source"}, {.name = "target"}},
                   .lengths_name = "longest sentence, in words"};
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t length = 1 + step * 7919 % 50;
    chart.live_bytes.add(static_cast<double>(1024 * length));
    chart.lengths[0].values.add(static_cast<double>(length));
    chart.lengths[1].values.add(static_cast<double>(51 - length));
    chart.lines[1].reserved_bytes.add(step < 3 ? 40960 : 51200);
    chart.lines[1].replans.add(step == 3 || step == 40 ? 1 : 0);
    if (step >= steps / 2) continue;
    chart.lines[0].reserved_bytes.add(static_cast<double>(60000 + 100 * (step / 10)));
    chart.lines[0].replans.add(0);
  }
  return chart;
}

inline EvaluationCurves small_evaluations() {
  EvaluationCurves curves{.metrics = {{"top1", "test top-1", MetricKind::kShare},
                                      {"loss", "test", MetricKind::kLoss},
                                      {"bleu", "BLEU", MetricKind::kNumber}},
                          .steps = {}};
  curves.steps.add({.step = 1, .values = {0.25, 2, std::nan("")}});
  curves.steps.add({.step = 2, .values = {0.5, 1.75, 31.5}});
  return curves;
}

// An op that is executed one place earlier saves 1024 of 4096 bytes.
inline OrderView small_order() {
  return {.algorithm = "optimal",
          .names = {"conv2d of conv1", "relu of act1", "sgd of conv1"},
          .before = {{0, 1, 2}, {1024, 4096, 512}},
          .after = {{0, 2, 1}, {1024, 512, 3072}},
          .lower_bound = 3072,
          .least_known = 3072,
          .sentence = "When op 1 (relu of act1) runs, these 1 values (2 KiB) must be there",
          .cut = {{2048, "op 0 (conv2d of conv1)", "this op"},
                  {1024, "this op: its outputs", "later ops"}}};
}

}  // namespace skyline
