#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/backward/backward_graph.h"
#include "framework/ranks/rank_place.h"
#include "models/model.h"

namespace skyline {

// Settings of an optimizer. Only SGD uses `momentum` and `decay_weights_only`, only AdamW and Adam
// `beta2`; Adam has no `weight_decay`.
struct OptimizerOptions {
  std::string name = "sgd";  // one of optimizer_names()
  float momentum = 0.9f;
  float weight_decay = 1e-4f;  // SGD: L2, on every parameter; AdamW: apart, on matrices
  // Only matrices and kernels decay: no bias, and neither scale nor shift of a normalization.
  bool decay_weights_only = false;
  float beta2 = 0.999f;
  float clip = 0;  // limit of the norm of all gradients together; 0: none
};

// "sgd", "adam", "adamw".
std::vector<std::string> optimizer_names();

// Values that change from update to update.
struct UpdateParams {
  float learning_rate = 0;
  std::int64_t step = 1;  // counts the steps of the whole run, from 1
};

struct OptimizerRule;

// Updates a network's parameters in place, those that are not frozen. Its state for each parameter
// is resident and starts at zero. An update requests no memory unless gradients are clipped. To add
// one: its rule in the source.
class Optimizer {
 public:
  // The network must have been made in training mode. Ranks that share the updates each give their
  // place. Throws std::invalid_argument for an unknown name, and if it should clip the gradients of
  // fused updates.
  Optimizer(Context& context, const Network& network, const OptimizerOptions& options,
            RankOf place = {});
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Adds the update of every parameter that has a gradient to the backward graph, after ops that
  // clip the gradients if OptimizerOptions::clip is set. On a CUDA device one op updates all
  // parameters if their gradients are resident; else each parameter has an op of its own, which
  // may run as soon as its gradient is complete, beside other ops. Parameters that do not decay
  // have ops of their own.
  void add_updates(BackwardGraph& graph, const UpdateParams& params) const;
  // The same for some parameters, by their places in parameters(). `scale` multiplies gradients.
  void add_updates(BackwardGraph& graph, const UpdateParams& params,
                   std::span<const std::size_t> parameters,
                   const std::optional<BackwardInput>& scale) const;
  // Adds the ops that compute the factor that clips all gradients, if they are clipped.
  std::optional<BackwardInput> add_clip_factor(BackwardGraph& graph) const;
  bool clips() const noexcept { return options_.clip > 0; }

  // Those of the network that are not frozen.
  std::span<const Parameter> parameters() const noexcept { return parameters_; }
  // Named "<parameter>.<part>", in the order of the parameters: f32 of the parameter's shape or,
  // if ranks share the updates, of this rank's share.
  const std::vector<Buffer>& state() const noexcept { return state_; }

 private:
  bool decays(const Parameter& parameter) const {
    return !options_.decay_weights_only || parameter.value.shape().rank() > 1;
  }
  std::span<const Buffer> state_of(std::size_t parameter) const;

  const OptimizerRule& rule_;
  OptimizerOptions options_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> state_;
  RankOf place_;
  bool together_;  // one op updates all parameters
};

// Learning rate schedules over a run of `total_steps`; each step has its own rate:
//   constant    base
//   cosine      least + (base - least) * (1 + cos(pi * done)) / 2, where `done` is the share of the
//               steps after the warm-up that are done (Loshchilov and Hutter 2017, eq. 5)
//   step        base, a tenth of it from half of the run on, a hundredth from three quarters on
//               (He et al. 2016, section 4.2)
//   milestones  base * gamma^m after m of the milestones
// The first `warmup_steps` rates of any of them are 1/w, 2/w, … w/w of it (Goyal et al. 2017,
// section 2.2). So PyTorch's rates are those of ChainedScheduler([LinearLR(start_factor=1/w,
// total_iters=w-1), MultiStepLR]) and of SequentialLR([LinearLR, CosineAnnealingLR(T_max =
// total_steps - w, eta_min = least)], milestones=[w]), stepped once a step.
struct LearningRate {
  double base = 0.05;
  std::string schedule = "cosine";
  std::int64_t total_steps = 0;
  std::int64_t warmup_steps = 0;
  std::vector<std::int64_t> milestones = {};  // steps, ascending
  double gamma = 0.1;
  double least = 0;  // of the cosine

  // Returns the rate of step `step`, counted from 0. Throws std::invalid_argument for an unknown
  // schedule.
  double at(std::int64_t step) const;

 private:
  double without_warmup(std::int64_t step) const;
};

inline constexpr const char* kMilestones = "milestones";

// The names above.
const std::vector<std::string>& schedule_names();

}  // namespace skyline
