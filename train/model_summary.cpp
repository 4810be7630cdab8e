#include "train/model_summary.h"

#include <algorithm>
#include <set>

#include "framework/node.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

// Every node behind `output`, leaves left out, in the order in which they were applied.
std::vector<const Node*> nodes_in_order(const Tensor& output) {
  std::set<const Node*> found = {output.edge().node.get()};
  std::vector<const Node*> pending(found.begin(), found.end());
  std::vector<const Node*> nodes;
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    nodes.push_back(node);
    for (const Edge& edge : node->inputs) {
      if (!edge.node || edge.node->is_leaf()) continue;
      if (found.insert(edge.node.get()).second) pending.push_back(edge.node.get());
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  return nodes;
}

LayerSummary summary_of(const Node& node) {
  LayerSummary row;
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
  const Tensor logits =
      model->forward(context, context.upload(images, nullptr, "images")).logits;
  std::vector<LayerSummary> rows;
  for (const Node* node : nodes_in_order(logits)) rows.push_back(summary_of(*node));
  return rows;
}

}  // namespace skyline
