#include "train/lab/model_summary.h"

#include <algorithm>
#include <set>

#include "framework/node.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

struct InOrderOfApplication {
  bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
};
using Nodes = std::set<const Node*, InOrderOfApplication>;

// Adds all nodes that `output` depends on, except leaves.
void add_nodes(const Tensor& output, Nodes& nodes) {
  std::vector<const Node*> pending = {output.edge().node.get()};
  nodes.insert(pending.front());
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    for (const Edge& edge : node->inputs) {
      if (!edge.node || edge.node->is_leaf()) continue;
      if (nodes.insert(edge.node.get()).second) pending.push_back(edge.node.get());
    }
  }
}

// `counted` holds the parameters of earlier nodes: the steps of an unrolled LSTM share theirs.
LayerSummary summary_of(const Node& node, bool auxiliary, std::set<const Node*>& counted,
                        std::span<const std::string> frozen) {
  LayerSummary row;
  row.auxiliary = auxiliary;
  row.layer = node.layer;
  row.op = node.op->name();
  row.output = node.output_specs.front().shape;
  if (row.op == kLinearCrossEntropy) {  // the logits, which it never holds whole
    const auto rows_of = [&](std::size_t input) {
      const Edge& edge = node.inputs[input];
      return edge.node->output_specs[static_cast<std::size_t>(edge.output)].shape[0];
    };
    row.output = {rows_of(0), rows_of(1)};
  }
  // A weight multiplies once per pixel or word of the output; an embedding only looks up rows.
  const Shape& output = row.output;
  const std::int64_t positions = row.op.starts_with("embedding") ? 0
                                 : output.rank() == 4            ? output.elements() / output[1]
                                                                 : output[0];
  for (const Edge& edge : node.inputs) {
    if (!edge.node || !edge.node->is_leaf()) continue;
    const Shape& shape = edge.node->output_specs.front().shape;
    if (counted.insert(edge.node.get()).second) {
      row.parameters += shape.elements();
      const bool stays = std::ranges::find(frozen, edge.node->layer) != frozen.end();
      if (!stays) row.trained += shape.elements();
    }
    if (shape.rank() >= 2) row.multiply_adds += positions * shape.elements();
  }
  return row;
}

}  // namespace

std::vector<LayerSummary> summarize(const ModelEntry& entry, const ModelShape& shape,
                                    std::int64_t batch_size, std::span<const std::string> frozen) {
  SimulatedDevice device;
  BestFitPool pool(device);
  Context context(pool, {.dry_run = Emulation()});
  const auto model = entry.make(context, shape);
  const TensorSpec images{{batch_size, shape.channels, shape.height, shape.width}};
  const Prediction prediction = model->forward(context, context.upload(images, nullptr, "images"));
  Nodes main;
  add_nodes(prediction.logits, main);
  Nodes all = main;
  for (const AuxiliaryLogits& head : prediction.auxiliary) add_nodes(head.logits, all);
  std::vector<LayerSummary> rows;
  std::set<const Node*> counted;
  for (const Node* node : all) {
    rows.push_back(summary_of(*node, !main.contains(node), counted, frozen));
  }
  return rows;
}

std::vector<LayerSummary> summarize(const DryRunOptions& text_model,
                                    std::span<const std::string> frozen) {
  const std::unique_ptr<ModelRun> run = make_run(text_model);
  run->take_empty_batch(1);
  const Tensor loss = run->loss_of(0).loss;
  Nodes nodes;
  add_nodes(loss, nodes);
  std::vector<LayerSummary> rows;
  std::set<const Node*> counted;
  for (const Node* node : nodes) {
    if (node->layer != "loss") rows.push_back(summary_of(*node, false, counted, frozen));
  }
  return rows;
}

}  // namespace skyline
