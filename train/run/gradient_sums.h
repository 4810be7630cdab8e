#pragma once

#include <memory>
#include <span>
#include <vector>

#include "framework/backward/backward_graph.h"
#include "framework/ops/ranks/rank_sum_ops.h"

namespace skyline {

// Sums the gradients of a network over the ranks. Gradients that become whole one after another
// travel together, in a bucket: its sum begins when its last gradient is written and runs beside
// the rest of backward, and the updates wait for it. Gradients stay where they are: none is copied.
class GradientSums {
 public:
  // `group` is null in a dry run. Parameters have resident gradients.
  GradientSums(std::shared_ptr<RankGroup> group, RankPlace place,
               std::span<const Parameter> parameters);

  // Adds the sums to the graph of a step's last batch. Call it before the updates are added.
  void add_to(BackwardGraph& graph) const;

 private:
  struct Bucket;
  std::vector<Bucket> buckets(const BackwardGraph& graph) const;

  std::shared_ptr<RankGroup> group_;
  RankPlace place_;
  std::vector<Parameter> parameters_;
};

}  // namespace skyline
