#include "framework/ops/ranks/rank_sum_ops.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/ranks/rank_group.h"

namespace skyline {
namespace {

class BeginKernel final : public Kernel {
 public:
  BeginKernel(std::shared_ptr<RankGroup> group, int bucket, std::vector<std::size_t> sizes,
              std::size_t received)
      : group_(std::move(group)), bucket_(bucket), sizes_(std::move(sizes)), received_(received) {}

  void run(const KernelArguments& arguments) override {
    Pieces gradients;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      // The sum is written there, which the second op declares.
      gradients.emplace_back(const_cast<float*>(arguments.input<float>(i)), sizes_[i]);
    }
    group_->begin_sum(bucket_, {.values = std::move(gradients),
                                .received = {arguments.output<float>(0), received_}});
  }

 private:
  std::shared_ptr<RankGroup> group_;
  int bucket_;
  std::vector<std::size_t> sizes_;
  std::size_t received_;
};

class WaitKernel final : public Kernel {
 public:
  WaitKernel(std::shared_ptr<RankGroup> group, int bucket)
      : group_(std::move(group)), bucket_(bucket) {}
  void run(const KernelArguments&) override { group_->wait_sum(bucket_); }

 private:
  std::shared_ptr<RankGroup> group_;
  int bucket_;
};

std::string parameters_of(int bucket) { return "bucket=" + std::to_string(bucket); }

class BeginRankSum final : public Op {
 public:
  BeginRankSum(std::shared_ptr<RankGroup> group, RankPlace place, int bucket)
      : group_(std::move(group)), place_(place), bucket_(bucket) {}

  std::string_view name() const override { return kBeginRankSum; }
  std::string parameters() const override { return parameters_of(bucket_); }

  // No shape is empty, so the smallest bucket of many ranks receives at least one element.
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    const auto received = static_cast<std::int64_t>(std::max<std::size_t>(received_of(inputs), 1));
    return {{TensorSpec{.shape = {received}}, Category::kWorkspace}};
  }

  std::unique_ptr<Kernel> kernel(Compute&, std::span<const TensorSpec> inputs) const override {
    std::vector<std::size_t> sizes;
    for (const TensorSpec& input : inputs) {
      sizes.push_back(static_cast<std::size_t>(input.shape.elements()));
    }
    return std::make_unique<BeginKernel>(group_, bucket_, std::move(sizes), received_of(inputs));
  }

 private:
  std::size_t received_of(std::span<const TensorSpec> inputs) const {
    std::int64_t elements = 0;
    for (const TensorSpec& input : inputs) elements += input.shape.elements();
    return RankSum::received_floats(static_cast<std::size_t>(elements), place_.ranks);
  }

  std::shared_ptr<RankGroup> group_;
  RankPlace place_;
  int bucket_;
};

class WaitRankSum final : public Op {
 public:
  WaitRankSum(std::shared_ptr<RankGroup> group, int bucket)
      : group_(std::move(group)), bucket_(bucket) {}

  std::string_view name() const override { return kWaitRankSum; }
  std::string parameters() const override { return parameters_of(bucket_); }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    std::vector<OutputSpec> outputs;
    for (const TensorSpec& gradient : inputs.subspan(1)) {
      outputs.push_back({gradient, Category::kGradient});
    }
    return outputs;
  }

  std::unique_ptr<Kernel> kernel(Compute&, std::span<const TensorSpec>) const override {
    return std::make_unique<WaitKernel>(group_, bucket_);
  }

 private:
  std::shared_ptr<RankGroup> group_;
  int bucket_;
};

}  // namespace

std::shared_ptr<const Op> begin_rank_sum_op(std::shared_ptr<RankGroup> group, RankPlace place,
                                            int bucket) {
  return std::make_shared<BeginRankSum>(std::move(group), place, bucket);
}

std::shared_ptr<const Op> wait_rank_sum_op(std::shared_ptr<RankGroup> group, int bucket) {
  return std::make_shared<WaitRankSum>(std::move(group), bucket);
}

}  // namespace skyline
