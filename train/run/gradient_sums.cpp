#include "train/run/gradient_sums.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace skyline {
namespace {

// A bucket is closed once it has a quarter of the bytes that are left: the first ones, whose sums
// hide behind the rest of backward, are large; the last one, which nothing hides, is small.
constexpr std::size_t kShareOfRest = 4;
constexpr std::size_t kLeastBytes = std::size_t{64} << 10;

}  // namespace

struct GradientSums::Bucket {
  std::vector<BackwardInput> gradients;
  std::vector<Tensor> tensors;
  std::size_t whole_at = 0;  // the place of the step that writes the last gradient
  std::size_t bytes = 0;
};

GradientSums::GradientSums(std::shared_ptr<RankGroup> group, RankPlace place,
                           std::span<const Parameter> parameters)
    : group_(std::move(group)), place_(place), parameters_(parameters.begin(), parameters.end()) {}

std::vector<GradientSums::Bucket> GradientSums::buckets(const BackwardGraph& graph) const {
  struct Gradient {
    Tensor tensor;
    std::size_t whole_at;
  };
  std::vector<Gradient> gradients;
  std::size_t rest = 0;  // bytes
  for (const Parameter& parameter : parameters_) {
    const std::optional<std::size_t> place = graph.written_at(parameter.gradient);
    if (!place) continue;  // the loss does not depend on it
    gradients.push_back({parameter.gradient, *place});
    rest += parameter.gradient.spec().bytes();
  }
  std::ranges::stable_sort(gradients, {}, &Gradient::whole_at);
  std::vector<Bucket> buckets;
  std::size_t full = 0;  // bytes of the open bucket
  for (const auto& [tensor, whole_at] : gradients) {
    if (buckets.empty() || buckets.back().bytes >= full) {
      buckets.emplace_back();
      full = std::max(rest / kShareOfRest, kLeastBytes);
    }
    Bucket& bucket = buckets.back();
    bucket.gradients.push_back({.retained = tensor});
    bucket.tensors.push_back(tensor);
    bucket.whole_at = whole_at;
    bucket.bytes += tensor.spec().bytes();
    rest -= tensor.spec().bytes();
  }
  return buckets;
}

void GradientSums::add_to(BackwardGraph& graph) const {
  struct Begun {
    int bucket;
    std::vector<BackwardInput> inputs;
    std::vector<Tensor> gradients;
  };
  std::vector<Begun> sums;
  for (Bucket& bucket : buckets(graph)) {
    const int number = static_cast<int>(sums.size());
    std::vector<BackwardInput> inputs = graph.add_update(begin_rank_sum_op(group_, place_, number),
                                                         "", bucket.gradients, {}, bucket.whole_at);
    inputs.insert(inputs.end(), bucket.gradients.begin(), bucket.gradients.end());
    sums.push_back({number, std::move(inputs), std::move(bucket.tensors)});
  }
  for (Begun& sum : sums) {
    graph.add_update(wait_rank_sum_op(group_, sum.bucket), "", std::move(sum.inputs),
                     std::move(sum.gradients));
  }
}

}  // namespace skyline
