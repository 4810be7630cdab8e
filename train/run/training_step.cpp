#include "train/run/training_step.h"

#include <cmath>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
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
  BackwardGraph graph(context, std::move(loss));
  optimizer.add_updates(graph, params);
  graph.run(context);
  step.end();
  return value;
}

}  // namespace skyline
