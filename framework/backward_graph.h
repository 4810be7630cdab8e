#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"

namespace skyline {

// A gradient on its way: written by one step, read by `uses` later inputs, or by none when it is a
// parameter's (`destination`).
struct GradientValue {
  TensorSpec spec;
  std::string of;      // "conv1.weight", or "input 0 of relu of act1"
  Tensor destination;  // the parameter's gradient tensor; empty for all others
  int uses = 0;
};

// What a step reads: a tensor retained from forward, or a gradient value.
struct BackwardInput {
  Tensor retained;
  int gradient = -1;
};

// One op of the backward graph.
struct BackwardStep {
  std::shared_ptr<const Op> op;
  std::string layer;
  std::vector<BackwardInput> inputs;
  std::vector<int> outputs;  // gradient values

  std::string str() const;  // "conv2d_grad_input of conv1"
};

// The explicit backward graph (MXNet note; DESIGN section 4): built from the forward graph before
// anything of it runs. It holds a gradient op only where a parameter needs it, sums contributions
// in one aggregation step where a value has several consumers, counts the uses of every gradient
// and releases each with its last use. Building is iterative: O(n log n) for n forward nodes.
class BackwardGraph {
 public:
  // Consumes the forward graph behind the scalar `loss`: its nodes retain nothing afterwards. The
  // first step overwrites the loss with the seed gradient 1 when nobody else holds it.
  // Throws ShapeError when loss is no scalar, std::invalid_argument when no parameter leads to it.
  BackwardGraph(Context& context, Tensor loss);
  ~BackwardGraph();

  std::span<const BackwardStep> steps() const noexcept { return steps_; }
  std::span<const GradientValue> gradients() const noexcept { return gradients_; }

  // Runs step order[0], order[1], … instead. Throws std::invalid_argument when `order` is no
  // permutation or a step would read a gradient before it is written.
  void reorder(std::span<const int> order);

  // The context's step graph so far followed by this graph, for simulating the peak beforehand.
  StepGraph preview(Context& context) const;

  std::string to_text() const;  // a line a step
  std::string to_dot() const;   // Graphviz
  std::string to_json() const;  // {"steps": [{op, layer, reads, writes}], "gradients": [...]}

  // Runs every step once. Throws std::logic_error on a second run.
  void run(Context& context);

 private:
  struct Builder;
  struct Exported;

  void forget_readers();
  std::vector<Exported> exported() const;

  std::vector<BackwardStep> steps_;
  std::vector<GradientValue> gradients_;
  bool has_run_ = false;
};

}  // namespace skyline
