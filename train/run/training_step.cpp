#include "train/run/training_step.h"

#include <cmath>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/backward_graph.h"
#include "train/run/step_scope.h"

namespace skyline {

LossNotFinite::LossNotFinite(float loss)
    : std::runtime_error("the loss is " + std::to_string(loss)), loss_(loss) {}

float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    const BatchStep& batch) {
  context.stage_uploads(batch.input_bytes);
  StepScope step(context, batch.key);
  Tensor loss = batch.forward_loss();
  float value = 0;
  context.download(loss, &value);
  if (!std::isfinite(value)) throw LossNotFinite(value);
  if (context.options().fused_update) {
    BackwardGraph(context, std::move(loss)).run(context, [&](const Node& leaf, Tensor gradient) {
      optimizer.update(context, leaf, std::move(gradient), params);
    });
  } else {
    backward(context, std::move(loss));
    optimizer.update(context, params);
  }
  step.end();
  return value;
}

}  // namespace skyline
