#include "train/run/training_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/backward/backward_graph.h"
#include "framework/ops/ranks/rank_sum_ops.h"
#include "train/run/step_scope.h"

namespace skyline {
namespace {

// Builds the sums of one graph.
class GradientSums {
 public:
  GradientSums(BackwardGraph& graph, const Optimizer& optimizer, const StepShares& shares)
      : graph_(graph), optimizer_(optimizer), shares_(shares), buckets_(buckets()) {}

  void add(const UpdateParams& params) {
    const std::size_t count = buckets_.size();
    for (std::size_t i = 0; i < count; ++i) begin_sum(i);
    for (Bucket& bucket : buckets_) update_before_later_sums(bucket);
    std::optional<BackwardInput> scale;
    if (optimizer_.clips()) {
      for (std::size_t i = 0; i < count; ++i) wait_for_sum(i);
      scale = optimizer_.add_clip_factor(graph_);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!optimizer_.clips()) wait_for_sum(i);
      optimizer_.add_updates(graph_, params, buckets_[i].parameters, scale);
      if (!shares_.shard_optimizer) continue;
      add_gather(buckets_[i], begin_rank_gather_op(numbered(count + i, buckets_[i])));
    }
    for (std::size_t i = 0; shares_.shard_optimizer && i < count; ++i) {
      buckets_[i].updated_at = BackwardGraph::kEnd;
      add_gather(buckets_[i], wait_rank_gather_op(numbered(count + i, buckets_[i])));
    }
  }

 private:
  // A gradient's parameter, by its place in the optimizer's list, and the step that completes it.
  struct Gradient {
    std::size_t parameter, whole_at;
    bool resident;
  };
  struct Bucket {
    std::vector<std::size_t> parameters = {};  // their places in the optimizer's list
    std::size_t whole_at = 0;  // the place of the step that completes the last gradient
    bool resident = true;      // all its gradients
    std::vector<BackwardInput> received = {};  // of the sum that has begun
    std::size_t updated_at = BackwardGraph::kEnd;
  };

  std::vector<Gradient> gradients() const {
    const std::unordered_map<const Storage*, std::size_t> places = graph_.places_written();
    std::vector<Gradient> gradients;
    for (std::size_t i = 0; i < optimizer_.parameters().size(); ++i) {
      const std::optional<BackwardInput> gradient = graph_.gradient_of(optimizer_.parameters()[i]);
      if (!gradient) continue;
      if (gradient->gradient >= 0) {
        gradients.push_back({i, *graph_.gradients()[index(gradient->gradient)].complete_at, false});
      } else if (const auto place = places.find(gradient->retained.storage().get());
                 place != places.end()) {
        gradients.push_back({i, place->second, true});
      }
    }
    return gradients;
  }
  std::vector<Bucket> buckets() const {
    const std::vector<Gradient> gradients = this->gradients();
    std::vector<std::vector<std::size_t>> numbers(1, std::vector<std::size_t>(gradients.size()));
    std::iota(numbers.front().begin(), numbers.front().end(), std::size_t{0});
    if (shares_.buckets) numbers = *shares_.buckets;
    std::vector<Bucket> buckets;
    std::size_t added = 0;
    for (const std::vector<std::size_t>& together : numbers) {
      Bucket& bucket = buckets.emplace_back();
      for (const std::size_t number : together) {
        const Gradient& gradient = gradients.at(number);
        bucket.parameters.push_back(gradient.parameter);
        bucket.whole_at = std::max(bucket.whole_at, gradient.whole_at);
        bucket.resident = bucket.resident && gradient.resident;
        ++added;
      }
    }
    if (added != gradients.size()) throw std::logic_error("the buckets are of another graph");
    return buckets;
  }
  // A gradient that is not resident lives until its update, which comes when the next sum begins.
  void update_before_later_sums(Bucket& bucket) const {
    if (bucket.resident) return;
    for (const Bucket& later : buckets_) {
      if (later.whole_at <= bucket.whole_at) continue;
      bucket.updated_at = std::min(bucket.updated_at, later.whole_at);
    }
  }
  RankWork work() const {
    if (shares_.fast_sum) return RankWork::kFastSum;
    return shares_.shard_optimizer && !optimizer_.clips() ? RankWork::kSumShares : RankWork::kSum;
  }
  RankBucket numbered(std::size_t number, const Bucket& bucket) const {
    return {.group = shares_.group,
            .place = shares_.place,
            .number = static_cast<int>(number),
            .tensors = bucket.parameters.size()};
  }
  void begin_sum(std::size_t number) {
    Bucket& bucket = buckets_[number];
    std::vector<BackwardInput> gradients;
    for (const std::size_t i : bucket.parameters) {
      gradients.push_back(*graph_.gradient_of(optimizer_.parameters()[i]));
    }
    bucket.received = graph_.add_update(begin_rank_sum_op(numbered(number, bucket), work()), "",
                                        std::move(gradients), {}, bucket.whole_at);
  }
  void wait_for_sum(std::size_t number) {
    Bucket& bucket = buckets_[number];
    std::vector<BackwardInput> inputs = std::move(bucket.received);
    std::vector<Tensor> destinations;
    for (const std::size_t i : bucket.parameters) {
      inputs.push_back(*graph_.gradient_of(optimizer_.parameters()[i]));
      destinations.push_back(inputs.back().retained);
    }
    const std::vector<BackwardInput> sums =
        graph_.add_update(wait_rank_sum_op(numbered(number, bucket)), "", std::move(inputs),
                          std::move(destinations), bucket.updated_at);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      graph_.replace_gradient(optimizer_.parameters()[bucket.parameters[i]], sums[i]);
    }
  }
  void add_gather(const Bucket& bucket, std::shared_ptr<const Op> op) {
    std::vector<BackwardInput> inputs;
    std::vector<Tensor> parameters;
    for (const std::size_t i : bucket.parameters) {
      parameters.push_back(optimizer_.parameters()[i].value.detach());
      inputs.push_back({.retained = parameters.back()});
    }
    graph_.add_update(std::move(op), "", std::move(inputs), std::move(parameters),
                      bucket.updated_at);
  }

  BackwardGraph& graph_;
  const Optimizer& optimizer_;
  const StepShares& shares_;
  std::vector<Bucket> buckets_;
};

// Adds the updates of a network's parameters to the graph of a step's last batch. Several ranks sum
// their gradients before. Gradients travel together, in the buckets of `shares`: a sum begins when
// the last gradient of its bucket is written and runs beside the rest of backward and the updates
// of earlier buckets. Gradients stay where they are: none is copied.
//
// If the ranks share the updates, each gets the sums of its share alone, updates it, and the ranks
// gather the parameters, bucket by bucket. Clipping needs all sums, so each rank gets all. Throws
// std::logic_error if the buckets are not of this graph's gradients.
void add_sums_and_updates(BackwardGraph& graph, const Optimizer& optimizer,
                          const UpdateParams& params, const StepShares& shares) {
  if (shares.place.ranks == 1) return optimizer.add_updates(graph, params);
  GradientSums(graph, optimizer, shares).add(params);
}

}  // namespace

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
    auto [loss, probabilities] = batches.loss_of(batch);
    float value = 0;
    context.download(loss, &value);
    for (const float of_rank : shares.from_all_ranks(value)) {
      if (!std::isfinite(of_rank)) throw LossNotFinite(of_rank, batch);
      sum += of_rank;
    }
    batches.examine(batch, std::exchange(probabilities, {}));
    BackwardGraph graph(context, std::move(loss),
                        {.seed = static_cast<float>(1 / of_step), .accumulate = batch > 0});
    if (batch + 1 == shares.micro_batches) add_sums_and_updates(graph, optimizer, params, shares);
    graph.run(context);
  }
  step.end();
  return static_cast<float>(sum / of_step);
}

}  // namespace skyline
