#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"

namespace skyline {

// A value of the backward graph, written by one step and read by `uses` later inputs: a gradient, a
// part of one, or a forward tensor that is recomputed. A parameter's whole gradient has no uses.
struct GradientValue {
  TensorSpec spec;
  std::string of;      // "conv1.weight", or "output 0 of relu of act1"
  Tensor destination;  // the parameter's gradient tensor, if written there
  int uses = 0;
  bool recomputed = false;  // a forward tensor: output 0 of the op `of`

  std::string name() const;  // "gradient of conv1.weight", "recomputed relu of act1"
};

// One input of a step: a tensor retained from forward, or a gradient value.
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

// The explicit backward graph (MXNet note; DESIGN section 4), built from the forward graph before
// any of it runs. It contains a gradient op only if a parameter needs it, sums contributions in
// aggregation steps if a value has several consumers, counts the uses of every gradient and frees
// each with its last use. A tensor that a node recomputes is computed once, right before the first
// step that reads it. Building is iterative, except for recompute steps, whose depth is bounded:
// O(n log n) for n forward nodes.
//
// A parameter's first contribution is written into its gradient tensor and each further one is
// added to it at once, so an LSTM of T unrolled steps holds one gradient of a weight beside the
// resident one, not T. Contributions to other values are summed once five are waiting (or a sum and
// four): one sum of n reads and writes n + 1 times the bytes, n - 1 sums of two 3 (n - 1) times,
// and with five convolutional networks need one sum a value (GoogLeNet has five consumers,
// Inception-ResNet four). All sums add in the order in which contributions arrive, so the bits
// equal those of one sum of all.
class BackwardGraph {
 public:
  // Consumes the forward graph behind the scalar `loss`: its nodes retain nothing afterwards. The
  // first step overwrites the loss with the seed gradient 1 if nobody else holds it.
  // Throws ShapeError if loss is no scalar, std::invalid_argument if it depends on no parameter.
  BackwardGraph(Context& context, Tensor loss);
  ~BackwardGraph();

  std::span<const BackwardStep> steps() const noexcept { return steps_; }
  std::span<const GradientValue> gradients() const noexcept { return gradients_; }

  // Runs step order[0], order[1], … instead. Throws std::invalid_argument if `order` is no
  // permutation or a step would read a gradient before it is written, std::logic_error if gradients
  // go to an update.
  void reorder(std::span<const int> order);

  // Returns the context's recorded step followed by this graph, to simulate or print it before it
  // runs.
  RecordedStep preview(Context& context) const;

  // Receives a parameter's whole gradient, to keep or drop, and the parameter's leaf.
  using Update = std::function<void(const Node& leaf, Tensor gradient)>;

  // Runs every step once. Passes each gradient that has no tensor of its own to `update`, once no
  // later step reads its parameter, so that `update` may change the parameter.
  // Throws std::logic_error on a second run, or if such a gradient exists and `update` is empty.
  void run(Context& context, const Update& update = {});

 private:
  struct Builder;
  class Run;
  void preview_step(Context& context, StepRecorder& recorder, const BackwardStep& step,
                    std::vector<ValueId>& ids) const;
  // A gradient that is complete after step `step`, which is also the last to read its parameter.
  struct Complete {
    std::size_t step;
    std::shared_ptr<const Node> leaf;
    int gradient;
  };

  std::vector<BackwardStep> steps_;
  std::vector<GradientValue> gradients_;
  std::vector<Complete> complete_;  // for an update, in the order of their steps
  bool has_run_ = false;
};

// Builds the backward graph of a scalar `loss` and runs it. The gradients are written to (not added
// to) the parameters' gradient tensors. Consumes the forward graph. Throws as BackwardGraph does,
// and std::logic_error under fused_update, which needs BackwardGraph::run and an update.
void backward(Context& context, Tensor loss);

}  // namespace skyline
