#include <utility>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/cuda/nccl/cuda_ranks.h"
#include "framework/ops/ranks/rank_sum_kernels.h"

namespace skyline {
namespace {

class BeginKernelCuda final : public Kernel {
 public:
  BeginKernelCuda(CudaCompute& compute, RankBucket bucket, RankWork work,
                  std::vector<std::size_t> sizes)
      : compute_(compute), bucket_(std::move(bucket)), work_(work), sizes_(std::move(sizes)) {}

  void run(const KernelArguments& arguments) override {
    compute_.ranks().begin(bucket_.number, values_of(work_, sizes_, bucket_.place, arguments),
                           compute_.stream());
  }

 private:
  CudaCompute& compute_;
  RankBucket bucket_;
  RankWork work_;
  std::vector<std::size_t> sizes_;
};

class WaitKernelCuda final : public Kernel {
 public:
  WaitKernelCuda(CudaCompute& compute, RankBucket bucket, std::size_t first,
                 std::vector<std::size_t> sizes)
      : compute_(compute), bucket_(std::move(bucket)), first_(first), sizes_(std::move(sizes)) {}

  void run(const KernelArguments& arguments) override {
    compute_.ranks().wait(bucket_.number, compute_.stream());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const float* from = arguments.input<float>(first_ + i);
      float* to = arguments.output<float>(i);
      if (from == to) continue;
      check_cuda(cudaMemcpyAsync(to, from, sizes_[i] * sizeof(float), cudaMemcpyDeviceToDevice,
                                 compute_.stream()),
                 "cudaMemcpyAsync");
    }
  }

 private:
  CudaCompute& compute_;
  RankBucket bucket_;
  std::size_t first_;
  std::vector<std::size_t> sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_begin_rank_work_cuda(CudaCompute& compute, RankBucket bucket,
                                                  RankWork work, std::vector<std::size_t> sizes) {
  return std::make_unique<BeginKernelCuda>(compute, std::move(bucket), work, std::move(sizes));
}

std::unique_ptr<Kernel> make_wait_rank_work_cuda(CudaCompute& compute, RankBucket bucket,
                                                 std::size_t first,
                                                 std::vector<std::size_t> sizes) {
  return std::make_unique<WaitKernelCuda>(compute, std::move(bucket), first, std::move(sizes));
}

}  // namespace skyline
