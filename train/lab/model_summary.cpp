#include "train/lab/model_summary.h"

#include <set>

#include "framework/node.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

struct InOrderOfApplication {
  bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
};
using Nodes = std::set<const Node*, InOrderOfApplication>;

// Adds every node behind `output` that is not there yet, leaves left out.
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

LayerSummary summary_of(const Node& node, bool auxiliary) {
  LayerSummary row;
  row.auxiliary = auxiliary;
  row.layer = node.layer;
  row.op = node.op->name();
  row.output = node.output_specs.front().shape;
  for (const Edge& edge : node.inputs) {
    if (!edge.node || !edge.node->is_leaf()) continue;
    const Shape& shape = edge.node->output_specs.front().shape;
    row.parameters += shape.elements();
    // A filter [O, ...] is applied once for each output element of its channel.
    if (shape.rank() >= 2) row.multiply_adds += row.output.elements() * shape.elements() / shape[0];
  }
  return row;
}

}  // namespace

std::vector<LayerSummary> summarize(const ModelEntry& entry, const ModelShape& shape,
                                    std::int64_t batch_size) {
  SimulatedDevice device;
  BestFitPool pool(device);
  Context context(pool, {.execute = false});
  const auto model = entry.make(context, shape);
  const TensorSpec images{{batch_size, shape.channels, shape.height, shape.width}};
  const Prediction prediction = model->forward(context, context.upload(images, nullptr, "images"));
  Nodes main;
  add_nodes(prediction.logits, main);
  Nodes all = main;
  for (const AuxiliaryLogits& head : prediction.auxiliary) add_nodes(head.logits, all);
  std::vector<LayerSummary> rows;
  for (const Node* node : all) rows.push_back(summary_of(*node, !main.contains(node)));
  return rows;
}

}  // namespace skyline
