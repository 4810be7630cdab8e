#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/context.h"

namespace skyline {

// A gradient on its way, or a part of one: written by one step, read by `uses` later inputs, or by
// none when it is a parameter's whole gradient. Or a forward tensor that is made again.
struct GradientValue {
  TensorSpec spec;
  std::string of;      // "conv1.weight", or "output 0 of relu of act1"
  Tensor destination;  // the parameter's gradient tensor, where it is written there; else empty
  int uses = 0;
  bool remade = false;  // a forward tensor: of what `of` says
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
// in aggregation steps where a value has several consumers, counts the uses of every gradient and
// releases each with its last use. What a node keeps as a recipe is made right before the first
// step that reads it, once for all of them. Building is iterative, but for recipes, whose depth is
// bounded: O(n log n) for n forward nodes.
//
// A parameter's first contribution is written into its gradient tensor and every further one added
// to that as soon as it comes, so that an LSTM of T unrolled steps never holds T gradients of a
// weight, but one beside the resident one. Contributions to any other value are summed as soon as
// five of them stand, or a sum and four: a sum of n reads and writes n + 1 times the bytes, n - 1
// sums of two 3 (n - 1) times, and convolutional networks then need no more than one sum a value
// (GoogLeNet has five consumers, four branches and a classifier, Inception-ResNet four). Wherever
// the sums are made, they add in the order in which contributions come: the bits are those of one
// sum of all.
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
  // permutation or a step would read a gradient before it is written, std::logic_error where
  // gradients go to an update.
  void reorder(std::span<const int> order);

  // The context's step graph so far followed by this graph, for simulating the peak beforehand.
  StepGraph preview(Context& context) const;

  std::string to_text() const;  // a line a step
  std::string to_dot() const;   // Graphviz
  std::string to_json() const;  // {"steps": [{op, layer, reads, writes}], "gradients": [...]}

  // What takes a parameter's whole gradient, which it may keep or let go of, by the parameter's
  // leaf.
  using Update = std::function<void(const Node& leaf, Tensor gradient)>;

  // Runs every step once. `update` gets the gradients of parameters that have no tensor for them,
  // each once no later step reads the parameter, so that it may be changed.
  // Throws std::logic_error on a second run, and where such a gradient has no `update`.
  void run(Context& context, const Update& update = {});

 private:
  struct Builder;
  struct Exported;
  // A gradient that is whole, and its parameter read for the last time, after step `step`.
  struct Whole {
    std::size_t step;
    std::shared_ptr<const Node> leaf;
    int gradient;
  };

  void forget_readers();
  std::vector<Exported> exported() const;

  std::vector<BackwardStep> steps_;
  std::vector<GradientValue> gradients_;
  std::vector<Whole> whole_;  // for an update, in the order of their steps
  bool has_run_ = false;
};

}  // namespace skyline
