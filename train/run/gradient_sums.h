#pragma once

#include <memory>
#include <vector>

#include "framework/backward/backward_graph.h"
#include "framework/ops/ranks/rank_sum_ops.h"
#include "train/optimizers/optimizer.h"

namespace skyline {

// Sums the gradients of a network over the ranks and updates its parameters. Gradients travel
// together, in the context's buckets: a sum begins when the last gradient of its bucket is written
// and runs beside the rest of backward and the updates of earlier buckets. Gradients stay where
// they are: none is copied.
//
// If the ranks share the updates, each gets the sums of its share alone, updates it, and the ranks
// gather the parameters, bucket by bucket. Clipping needs all sums, so each rank gets all.
class GradientSums {
 public:
  // The context has the group, which is null in a dry run.
  GradientSums(const Context& context, const Optimizer& optimizer);

  // Adds sums and updates to the graph of a step's last batch. Throws std::logic_error if the
  // buckets are not of this graph's gradients.
  void add_to(BackwardGraph& graph, const UpdateParams& params) const;

 private:
  // A gradient's parameter, by its place in the optimizer's list, and the step that completes it.
  struct Gradient {
    std::size_t parameter, whole_at;
  };
  struct Bucket;
  std::vector<Gradient> gradients(const BackwardGraph& graph) const;
  std::vector<Bucket> buckets(const BackwardGraph& graph) const;
  RankWork work() const;
  RankBucket numbered(std::size_t number, const Bucket& bucket) const;
  void begin_sum(BackwardGraph& graph, Bucket& bucket, std::size_t number) const;
  void wait_for_sum(BackwardGraph& graph, Bucket& bucket, std::size_t number) const;
  void add_gather(BackwardGraph& graph, const Bucket& bucket, std::shared_ptr<const Op> op) const;

  const Context::Options& options_;
  const Optimizer& optimizer_;
};

}  // namespace skyline
