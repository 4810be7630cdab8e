#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "framework/kernel.h"
#include "framework/ops/ranks/rank_sum_ops.h"

namespace skyline {

// The ops' kernels on CUDA. The tensors have these sizes; the second kernel's are the inputs from
// `first` on.
CUDA_ONLY std::unique_ptr<Kernel> make_begin_rank_work_cuda(CudaCompute& compute, RankBucket bucket,
                                                            RankWork work,
                                                            std::vector<std::size_t> sizes);
CUDA_ONLY std::unique_ptr<Kernel> make_wait_rank_work_cuda(CudaCompute& compute, RankBucket bucket,
                                                           std::size_t first,
                                                           std::vector<std::size_t> sizes);

// Returns what a first op's kernel is given: inputs of these sizes and, for sums, room for received
// values.
RankValues values_of(RankWork work, const std::vector<std::size_t>& sizes, const RankOf& place,
                     const KernelArguments& arguments);

}  // namespace skyline
