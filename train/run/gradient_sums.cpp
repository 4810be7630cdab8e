#include "train/run/gradient_sums.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace skyline {

struct GradientSums::Bucket {
  std::vector<std::size_t> parameters;  // their places in the optimizer's list
  std::size_t whole_at = 0;             // the place of the step that completes the last gradient
  std::vector<BackwardInput> received = {};  // of the sum that has begun
  std::size_t updated_at = BackwardGraph::kEnd;
};

GradientSums::GradientSums(const Context& context, const Optimizer& optimizer)
    : options_(context.options()), optimizer_(optimizer) {}

std::vector<GradientSums::Gradient> GradientSums::gradients(const BackwardGraph& graph) const {
  const std::unordered_map<const Storage*, std::size_t> places = graph.places_written();
  std::vector<Gradient> gradients;
  for (std::size_t i = 0; i < optimizer_.parameters().size(); ++i) {
    const std::optional<BackwardInput> gradient = graph.gradient_of(optimizer_.parameters()[i]);
    if (!gradient) continue;
    if (gradient->gradient >= 0) {
      gradients.push_back({i, *graph.gradients()[index(gradient->gradient)].complete_at});
    } else if (const auto place = places.find(gradient->retained.storage().get());
               place != places.end()) {
      gradients.push_back({i, place->second});
    }
  }
  return gradients;
}

std::vector<GradientSums::Bucket> GradientSums::buckets(const BackwardGraph& graph) const {
  const std::vector<Gradient> gradients = this->gradients(graph);
  std::vector<std::vector<std::size_t>> numbers(1, std::vector<std::size_t>(gradients.size()));
  std::iota(numbers.front().begin(), numbers.front().end(), std::size_t{0});
  if (options_.buckets) numbers = *options_.buckets;
  std::vector<Bucket> buckets;
  std::size_t added = 0;
  for (const std::vector<std::size_t>& together : numbers) {
    Bucket& bucket = buckets.emplace_back();
    for (const std::size_t number : together) {
      const auto& [parameter, whole_at] = gradients.at(number);
      bucket.parameters.push_back(parameter);
      bucket.whole_at = std::max(bucket.whole_at, whole_at);
      ++added;
    }
  }
  if (added != gradients.size()) throw std::logic_error("the buckets are of another graph");
  return buckets;
}

RankWork GradientSums::work() const {
  if (options_.fast_sum) return RankWork::kFastSum;
  return options_.shard_optimizer && !optimizer_.clips() ? RankWork::kSumShares : RankWork::kSum;
}

RankBucket GradientSums::numbered(std::size_t number, const Bucket& bucket) const {
  return {.group = options_.group,
          .place = options_.place,
          .number = static_cast<int>(number),
          .tensors = bucket.parameters.size()};
}

void GradientSums::add_to(BackwardGraph& graph, const UpdateParams& params) const {
  std::vector<Bucket> buckets = this->buckets(graph);
  const std::size_t count = buckets.size();
  const bool shares = options_.shard_optimizer;
  for (std::size_t i = 0; i < count; ++i) begin_sum(graph, buckets[i], i);
  // A gradient that is not resident lives until its update, which comes when the next sum begins.
  for (std::size_t i = 0; options_.fused_update && i < count; ++i) {
    for (const Bucket& later : buckets) {
      if (later.whole_at <= buckets[i].whole_at) continue;
      buckets[i].updated_at = std::min(buckets[i].updated_at, later.whole_at);
    }
  }
  std::optional<BackwardInput> scale;
  if (optimizer_.clips()) {
    for (std::size_t i = 0; i < count; ++i) wait_for_sum(graph, buckets[i], i);
    scale = optimizer_.add_clip_factor(graph);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!optimizer_.clips()) wait_for_sum(graph, buckets[i], i);
    optimizer_.add_updates(graph, params, buckets[i].parameters, scale);
    if (shares)
      add_gather(graph, buckets[i], begin_rank_gather_op(numbered(count + i, buckets[i])));
  }
  for (std::size_t i = 0; shares && i < count; ++i) {
    buckets[i].updated_at = BackwardGraph::kEnd;
    add_gather(graph, buckets[i], wait_rank_gather_op(numbered(count + i, buckets[i])));
  }
}

void GradientSums::begin_sum(BackwardGraph& graph, Bucket& bucket, std::size_t number) const {
  std::vector<BackwardInput> gradients;
  for (const std::size_t i : bucket.parameters) {
    gradients.push_back(*graph.gradient_of(optimizer_.parameters()[i]));
  }
  bucket.received = graph.add_update(begin_rank_sum_op(numbered(number, bucket), work()), "",
                                     std::move(gradients), {}, bucket.whole_at);
}

void GradientSums::wait_for_sum(BackwardGraph& graph, Bucket& bucket, std::size_t number) const {
  std::vector<BackwardInput> inputs = std::move(bucket.received);
  std::vector<Tensor> destinations;
  for (const std::size_t i : bucket.parameters) {
    inputs.push_back(*graph.gradient_of(optimizer_.parameters()[i]));
    destinations.push_back(inputs.back().retained);
  }
  const std::vector<BackwardInput> sums =
      graph.add_update(wait_rank_sum_op(numbered(number, bucket)), "", std::move(inputs),
                       std::move(destinations), bucket.updated_at);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    graph.replace_gradient(optimizer_.parameters()[bucket.parameters[i]], sums[i]);
  }
}

void GradientSums::add_gather(BackwardGraph& graph, const Bucket& bucket,
                              std::shared_ptr<const Op> op) const {
  std::vector<BackwardInput> inputs;
  std::vector<Tensor> parameters;
  for (const std::size_t i : bucket.parameters) {
    parameters.push_back(optimizer_.parameters()[i].value.detach());
    inputs.push_back({.retained = parameters.back()});
  }
  graph.add_update(std::move(op), "", std::move(inputs), std::move(parameters), bucket.updated_at);
}

}  // namespace skyline
