#include "train/report/rank_lane.h"

#include <nlohmann/json.hpp>

#include "framework/ops/ranks/rank_sum_ops.h"

namespace skyline {

std::vector<BucketSum> bucket_sums(const StepGraph& graph, const StepStory& story) {
  std::vector<BucketSum> sums;
  for (const BlockUse& use : story.uses) {
    const StepOp& op = graph.ops[use.op];
    if (!begins_rank_sum(op.name) || use.kind != BlockUse::Kind::kRequest) continue;
    BucketSum& sum =
        sums.emplace_back(BucketSum{.block = use.block, .gradients = op.inputs.size()});
    for (const ValueId value : op.inputs) sum.bytes += graph.values[value].bytes;
  }
  return sums;
}

nlohmann::ordered_json to_json(const RankLane& lane) {
  nlohmann::ordered_json json = {{"ranks", lane.ranks},
                                 {"sums", nlohmann::ordered_json::array()},
                                 {"sum_seconds", lane.sum_seconds},
                                 {"wait_seconds", lane.wait_seconds}};
  for (const BucketSum& sum : lane.sums) {
    json["sums"].push_back({sum.block, sum.gradients, sum.bytes});
  }
  return json;
}

}  // namespace skyline
