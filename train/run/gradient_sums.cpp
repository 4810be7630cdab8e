#include "train/run/gradient_sums.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/ops/ranks/rank_sum_ops.h"

namespace skyline {
namespace {

// Builds the sums of one graph.
class GradientSums {
 public:
  GradientSums(BackwardGraph& graph, const Optimizer& optimizer, const StepShares& shares)
      : graph_(graph), optimizer_(optimizer), shares_(shares), buckets_(buckets()) {}

  void add(const UpdateParams& params);

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

  std::vector<Gradient> gradients() const;
  std::vector<Bucket> buckets() const;
  void update_before_later_sums(Bucket& bucket) const;
  RankWork work() const;
  RankBucket numbered(std::size_t number, const Bucket& bucket) const;
  void begin_sum(std::size_t number);
  void wait_for_sum(std::size_t number);
  void add_gather(const Bucket& bucket, std::shared_ptr<const Op> op);

  BackwardGraph& graph_;
  const Optimizer& optimizer_;
  const StepShares& shares_;
  std::vector<Bucket> buckets_;
};

std::vector<GradientSums::Gradient> GradientSums::gradients() const {
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

std::vector<GradientSums::Bucket> GradientSums::buckets() const {
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

RankWork GradientSums::work() const {
  if (shares_.fast_sum) return RankWork::kFastSum;
  return shares_.shard_optimizer && !optimizer_.clips() ? RankWork::kSumShares : RankWork::kSum;
}

RankBucket GradientSums::numbered(std::size_t number, const Bucket& bucket) const {
  return {.group = shares_.group,
          .place = shares_.place,
          .number = static_cast<int>(number),
          .tensors = bucket.parameters.size()};
}

void GradientSums::add(const UpdateParams& params) {
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

// A gradient that is not resident lives until its update, which comes when the next sum begins.
void GradientSums::update_before_later_sums(Bucket& bucket) const {
  if (bucket.resident) return;
  for (const Bucket& later : buckets_) {
    if (later.whole_at <= bucket.whole_at) continue;
    bucket.updated_at = std::min(bucket.updated_at, later.whole_at);
  }
}

void GradientSums::begin_sum(std::size_t number) {
  Bucket& bucket = buckets_[number];
  std::vector<BackwardInput> gradients;
  for (const std::size_t i : bucket.parameters) {
    gradients.push_back(*graph_.gradient_of(optimizer_.parameters()[i]));
  }
  bucket.received = graph_.add_update(begin_rank_sum_op(numbered(number, bucket), work()), "",
                                      std::move(gradients), {}, bucket.whole_at);
}

void GradientSums::wait_for_sum(std::size_t number) {
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

void GradientSums::add_gather(const Bucket& bucket, std::shared_ptr<const Op> op) {
  std::vector<BackwardInput> inputs;
  std::vector<Tensor> parameters;
  for (const std::size_t i : bucket.parameters) {
    parameters.push_back(optimizer_.parameters()[i].value.detach());
    inputs.push_back({.retained = parameters.back()});
  }
  graph_.add_update(std::move(op), "", std::move(inputs), std::move(parameters), bucket.updated_at);
}

}  // namespace

void add_sums_and_updates(BackwardGraph& graph, const Optimizer& optimizer,
                          const UpdateParams& params, const StepShares& shares) {
  if (shares.place.ranks == 1) return optimizer.add_updates(graph, params);
  GradientSums(graph, optimizer, shares).add(params);
}

}  // namespace skyline
