#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/context.h"

namespace skyline {

// A value of the backward graph, written by one step and read by `uses` later inputs.
struct GradientValue {
  enum class Kind {
    kGradient,    // or a part of one
    kRecomputed,  // a forward tensor: an output of the op `of`
    kUpdate,      // of an update: the changed parameter, its state, a factor
  };

  TensorSpec spec;
  std::string of;      // "conv1.weight", or in a recorded step "output 0 of relu of act1"
  Tensor destination;  // the resident tensor that it is written to, if any
  int uses = 0;
  Kind kind = Kind::kGradient;
  // The place after which the value is complete. A parameter's whole gradient that is not resident
  // has that of the last step that writes it or reads its parameter; a value of an update with a
  // place has that place.
  std::optional<std::size_t> complete_at = {};

  std::string name() const;  // "gradient of conv1.weight", "recomputed relu of act1"
};

// One input of a step: a tensor that lives before the first step, or a gradient value.
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
  Phase phase = Phase::kBackward;
  std::size_t place = 0;  // in the program's sequence

  std::string str() const;  // "conv2d_grad_input of conv1"
};

// How a batch takes part in a step of several.
struct BackwardOptions {
  float seed = 1;  // the gradient of the loss: 1 / K if the step takes the mean of K losses
  bool accumulate = false;  // adds to the resident gradients instead of writing over them
};

// The explicit backward graph (MXNet note; DESIGN section 4), built from the forward graph before
// any of it runs. It contains a gradient op only if a parameter needs it, sums contributions in
// aggregation steps if a value has several consumers, counts the uses of every gradient and frees
// each with its last use. A tensor that a node recomputes is computed once, right before the first
// step that reads it, or for each reader. Building is iterative, except for recompute steps that
// read each other, at most as many in a row as the network has ops: O(n log n) for n forward nodes
// without them.
//
// A parameter's first contribution is written into its gradient tensor and each further one is
// added to it at once, so an LSTM of T unrolled steps holds one gradient of a weight beside the
// resident one, not T; a GradientAdder adds its contribution in place, so that none is beside it.
// Contributions to other values are summed once five are waiting (or a sum and four): one sum of n
// reads and writes n + 1 times the bytes, n - 1 sums of two 3 (n - 1) times, and with five
// convolutional networks need one sum a value (GoogLeNet has five consumers, Inception-ResNet
// four). With `early_sums` in the context's savings they are added at once, too. All sums add in
// the order in which contributions arrive, so the bits equal those of one sum of all. Two parts
// that the next step alone reads are left to it if it is a SumReader, unless sums are early or the
// context's options recompute chains.
//
// With `accumulate`, a parameter's gradient is a value of this graph until it is whole, and is then
// added to the resident one at once. So the bits of a step of K batches are those of K gradients,
// each computed by itself and then added in the batches' order.
class BackwardGraph {
 public:
  // Consumes the forward graph behind the scalar `loss`: its nodes retain nothing afterwards. The
  // first step overwrites the loss with the seed gradient if nobody else holds it.
  // Throws ShapeError if loss is no scalar, std::invalid_argument if it depends on no parameter or
  // `accumulate` meets fused_update, which leaves nothing to add to.
  BackwardGraph(Context& context, Tensor loss, const BackwardOptions& options = {});
  ~BackwardGraph();

  std::span<const BackwardStep> steps() const noexcept { return steps_; }
  std::span<const GradientValue> gradients() const noexcept { return gradients_; }

  // The whole gradient of a parameter: its resident tensor or, under fused_update, a value of this
  // graph; nothing if the loss does not depend on the parameter.
  std::optional<BackwardInput> gradient_of(const Parameter& parameter) const;

  // The place after all steps.
  static constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();

  // Adds an op of phase update whose inputs are resident tensors and values of this graph. Output j
  // is written to the resident tensor `destinations[j]` if that is set; the others are returned. In
  // the program's sequence it runs after the step at `place`; without one as soon as it may if it
  // reads a gradient that is not resident, or a value of an update with a place, else at the end.
  std::vector<BackwardInput> add_update(std::shared_ptr<const Op> op, std::string layer,
                                        std::vector<BackwardInput> inputs,
                                        std::vector<Tensor> destinations = {},
                                        std::optional<std::size_t> place = {});

  // Lets a value that an update made, such as its sum over ranks, be the parameter's gradient from
  // now on. Only for gradients that are not resident.
  void replace_gradient(const Parameter& parameter, const BackwardInput& gradient);

  // Returns the place of the last step that writes each resident tensor, for those that steps
  // write.
  std::unordered_map<const Storage*, std::size_t> places_written() const;

  // Runs every step once, in the order that the context's options give. Returns the gradients of
  // `wanted`, tensors that require_gradient() made; others are freed with their last reader. Throws
  // std::logic_error on a second run, std::invalid_argument if the loss does not depend on a wanted
  // tensor, and what the ops throw.
  std::vector<Tensor> run(Context& context, std::span<const Tensor> wanted = {});

 private:
  struct Builder;
  class Run;
  void reorder(std::span<const OpId> order);

  std::vector<BackwardStep> steps_;
  std::vector<GradientValue> gradients_;
  std::unordered_map<const Node*, int> whole_;  // gradients that are not resident, by leaf
  bool has_run_ = false;
};

// Builds the backward graph of a scalar `loss` and runs it. The gradients are written to (not added
// to) the parameters' gradient tensors; returns those of `wanted`. Consumes the forward graph.
// Throws as BackwardGraph does.
std::vector<Tensor> backward(Context& context, Tensor loss, std::span<const Tensor> wanted = {});

}  // namespace skyline
