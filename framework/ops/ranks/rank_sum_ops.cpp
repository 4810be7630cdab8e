#include "framework/ops/ranks/rank_sum_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/ranks/rank_sum_kernels.h"

namespace skyline {
namespace {

std::vector<std::size_t> sizes_of(Specs tensors) {
  std::vector<std::size_t> sizes;
  for (const TensorSpec& tensor : tensors) {
    sizes.push_back(static_cast<std::size_t>(tensor.shape.elements()));
  }
  return sizes;
}

class RankOp : public Op {
 public:
  RankOp(std::string_view name, RankBucket bucket) : bucket_(std::move(bucket)), name_(name) {}
  std::string_view name() const override { return name_; }
  std::string parameters() const override { return fmt::format("bucket={}", bucket_.number); }

 protected:
  static std::vector<OutputSpec> same(Specs tensors, Category category) {
    std::vector<OutputSpec> outputs;
    for (const TensorSpec& tensor : tensors) outputs.push_back({tensor, category});
    return outputs;
  }
  // Output i may be input `first` + i.
  std::vector<InPlacePair> each_in_place(int first) const {
    std::vector<InPlacePair> pairs;
    for (int i = 0; i < static_cast<int>(bucket_.tensors); ++i) {
      pairs.push_back({.input = first + i, .output = i});
    }
    return pairs;
  }

  std::unique_ptr<Kernel> begin_kernel(Compute& compute, RankWork work,
                                       std::vector<std::size_t> sizes) const {
    if (compute.cuda()) {
      return make_begin_rank_work_cuda(*compute.cuda(), bucket_, work, std::move(sizes));
    }
    return make_kernel([bucket = bucket_, work, sizes](const KernelArguments& arguments) {
      bucket.group->begin(bucket.number, values_of(work, sizes, bucket.place, arguments));
    });
  }
  // The tensors are the inputs from `first` on.
  std::unique_ptr<Kernel> wait_kernel(Compute& compute, std::size_t first,
                                      std::vector<std::size_t> sizes) const {
    if (compute.cuda()) {
      return make_wait_rank_work_cuda(*compute.cuda(), bucket_, first, std::move(sizes));
    }
    return make_kernel([bucket = bucket_, first, sizes](const KernelArguments& arguments) {
      bucket.group->wait(bucket.number);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const float* from = arguments.input<float>(first + i);
        float* to = arguments.output<float>(i);
        if (from != to) std::copy_n(from, sizes[i], to);
      }
    });
  }

  RankBucket bucket_;

 private:
  std::string_view name_;
};

class BeginRankSum final : public RankOp {
 public:
  BeginRankSum(RankBucket bucket, RankWork work)
      : RankOp(work == RankWork::kSumShares ? kBeginShareSum : kBeginRankSum, std::move(bucket)),
        work_(work) {}

  std::string parameters() const override {
    return fmt::format("{} work={}", RankOp::parameters(), static_cast<int>(work_));
  }

  // No shape is empty, so the smallest bucket of many ranks receives at least one element.
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    const std::size_t received =
        RankExchange::received_floats(work_, sizes_of(inputs), bucket_.place.ranks);
    const auto elements = static_cast<std::int64_t>(std::max<std::size_t>(received, 1));
    return {{TensorSpec{.shape = {elements}}, Category::kWorkspace}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return begin_kernel(compute, work_, sizes_of(inputs));
  }

 private:
  RankWork work_;
};

class WaitRankSum final : public RankOp {
 public:
  explicit WaitRankSum(RankBucket bucket) : RankOp(kWaitRankSum, std::move(bucket)) {}
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    return same(inputs.subspan(1), Category::kGradient);
  }
  std::vector<InPlacePair> in_place() const override { return each_in_place(1); }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return wait_kernel(compute, 1, sizes_of(inputs.subspan(1)));
  }
};

class RankGather final : public RankOp {
 public:
  RankGather(std::string_view name, RankBucket bucket) : RankOp(name, std::move(bucket)) {}
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    return same(inputs, Category::kParameter);
  }
  std::vector<InPlacePair> in_place() const override { return each_in_place(0); }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return name() == kWaitRankGather
               ? wait_kernel(compute, 0, sizes_of(inputs))
               : begin_kernel(compute, RankWork::kGatherShares, sizes_of(inputs));
  }
};

}  // namespace

RankValues values_of(RankWork work, const std::vector<std::size_t>& sizes, const RankOf& place,
                     const KernelArguments& arguments) {
  RankValues values{.work = work};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // The work writes there, which the second op declares.
    values.tensors.emplace_back(const_cast<float*>(arguments.input<float>(i)), sizes[i]);
  }
  const std::size_t received = RankExchange::received_floats(work, sizes, place.ranks);
  if (received > 0) values.received = {arguments.output<float>(0), received};
  return values;
}

std::shared_ptr<const Op> begin_rank_sum_op(RankBucket bucket, RankWork work) {
  return std::make_shared<BeginRankSum>(std::move(bucket), work);
}

std::shared_ptr<const Op> wait_rank_sum_op(RankBucket bucket) {
  return std::make_shared<WaitRankSum>(std::move(bucket));
}

std::shared_ptr<const Op> begin_rank_gather_op(RankBucket bucket) {
  return std::make_shared<RankGather>(kBeginRankGather, std::move(bucket));
}

std::shared_ptr<const Op> wait_rank_gather_op(RankBucket bucket) {
  return std::make_shared<RankGather>(kWaitRankGather, std::move(bucket));
}

}  // namespace skyline
