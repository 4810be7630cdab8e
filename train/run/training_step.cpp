#include "train/run/training_step.h"

#include <cmath>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "train/run/gradient_sums.h"
#include "train/run/step_scope.h"

namespace skyline {
LossNotFinite::LossNotFinite(float loss, std::size_t batch)
    : std::runtime_error("the loss is " + std::to_string(loss)), loss_(loss), batch_(batch) {}

float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    StepBatches& batches, const StepShares& shares) {
  const auto of_step = static_cast<double>(shares.batches());
  context.stage_uploads(batches.input_bytes());
  StepScope step(context, batches.shape_key());
  double sum = 0;
  for (std::size_t batch = 0; batch < shares.micro_batches; ++batch) {
    context.begin_batch(shares.number_of(batch));
    Tensor loss = batches.loss_of(batch);
    float value = 0;
    context.download(loss, &value);
    for (const float of_rank : shares.from_all_ranks(value)) {
      if (!std::isfinite(of_rank)) throw LossNotFinite(of_rank, batch);
      sum += of_rank;
    }
    BackwardGraph graph(context, std::move(loss),
                        {.seed = static_cast<float>(1 / of_step), .accumulate = batch > 0});
    if (batch + 1 == shares.micro_batches) add_sums_and_updates(graph, optimizer, params, shares);
    graph.run(context);
  }
  step.end();
  return static_cast<float>(sum / of_step);
}

}  // namespace skyline
