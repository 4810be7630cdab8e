#include "train/run/training_step.h"

#include <cmath>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "train/run/step_scope.h"

namespace skyline {

LossNotFinite::LossNotFinite(float loss, std::size_t batch)
    : std::runtime_error("the loss is " + std::to_string(loss)), loss_(loss), batch_(batch) {}

float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    const StepBatches& batches) {
  const std::size_t count = context.options().micro_batches;
  context.stage_uploads(batches.input_bytes);
  StepScope step(context, batches.key);
  double sum = 0;
  for (std::size_t batch = 0; batch < count; ++batch) {
    context.begin_batch(batch);
    Tensor loss = batches.forward_loss(batch);
    float value = 0;
    context.download(loss, &value);
    if (!std::isfinite(value)) throw LossNotFinite(value, batch);
    sum += value;
    BackwardGraph graph(context, std::move(loss),
                        {.seed = 1 / static_cast<float>(count), .accumulate = batch > 0});
    if (batch + 1 == count) optimizer.add_updates(graph, params);
    graph.run(context);
  }
  step.end();
  return static_cast<float>(sum / static_cast<double>(count));
}

}  // namespace skyline
