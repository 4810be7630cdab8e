#include "train/run/training_step.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "framework/ranks/rank_group.h"
#include "train/run/gradient_sums.h"
#include "train/run/step_scope.h"

namespace skyline {
namespace {

// The losses of a batch on each rank, in their order.
std::vector<float> losses_of_ranks(const Context::Options& options, float own) {
  if (!options.group || !options.execute) return std::vector<float>(options.place.ranks, own);
  std::vector<float> losses;
  for (const std::string& bytes :
       options.group->gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    std::memcpy(&losses.emplace_back(), bytes.data(), sizeof own);
  }
  return losses;
}

}  // namespace

LossNotFinite::LossNotFinite(float loss, std::size_t batch)
    : std::runtime_error("the loss is " + std::to_string(loss)), loss_(loss), batch_(batch) {}

float training_step(Context& context, const Optimizer& optimizer, const UpdateParams& params,
                    const StepBatches& batches) {
  const Context::Options& options = context.options();
  const std::size_t count = options.micro_batches, ranks = options.place.ranks;
  const auto of_step = static_cast<double>(count * ranks);
  context.stage_uploads(batches.input_bytes);
  StepScope step(context, batches.key);
  double sum = 0;
  for (std::size_t batch = 0; batch < count; ++batch) {
    context.begin_batch(batch * ranks + options.place.rank);
    Tensor loss = batches.forward_loss(batch);
    float value = 0;
    context.download(loss, &value);
    for (const float of_rank : losses_of_ranks(options, value)) {
      if (!std::isfinite(of_rank)) throw LossNotFinite(of_rank, batch);
      sum += of_rank;
    }
    BackwardGraph graph(context, std::move(loss),
                        {.seed = static_cast<float>(1 / of_step), .accumulate = batch > 0});
    if (batch + 1 == count) {
      if (ranks > 1) {
        GradientSums(context, optimizer).add_to(graph, params);
      } else {
        optimizer.add_updates(graph, params);
      }
    }
    graph.run(context);
  }
  step.end();
  return static_cast<float>(sum / of_step);
}

}  // namespace skyline
