
#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/cuda/nccl/cuda_ranks.h"
#include "framework/ops/ranks/rank_sum_kernels.h"

namespace skyline {

std::unique_ptr<Kernel> make_begin_rank_work_cuda(CudaCompute& compute, RankBucket bucket,
                                                  RankWork work, std::vector<std::size_t> sizes) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    compute.ranks().begin(bucket.number, values_of(work, sizes, bucket.place, arguments),
                          compute.stream());
  });
}

std::unique_ptr<Kernel> make_wait_rank_work_cuda(CudaCompute& compute, RankBucket bucket,
                                                 std::size_t first,
                                                 std::vector<std::size_t> sizes) {
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    compute.ranks().wait(bucket.number, compute.stream());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const float* from = arguments.input<float>(first + i);
      float* to = arguments.output<float>(i);
      if (from == to) continue;
      check_cuda(cudaMemcpyAsync(to, from, sizes[i] * sizeof(float), cudaMemcpyDeviceToDevice,
                                 compute.stream()),
                 "cudaMemcpyAsync");
    }
  });
}

}  // namespace skyline
