#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/kernel.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline {

// Output j is rows ranges[j] of the input, of `width` columns.
std::unique_ptr<Kernel> make_take_rows_cpu(std::vector<RowRange> ranges, std::int64_t width);
CUDA_ONLY std::unique_ptr<Kernel> make_take_rows_cuda(CudaCompute& compute,
                                                      std::vector<RowRange> ranges,
                                                      std::int64_t width);

// Rows ranges[i] of the output are input i; rows of `total` in no range are zeros. The ranges are
// in order.
std::unique_ptr<Kernel> make_place_rows_cpu(std::vector<RowRange> ranges, std::int64_t total,
                                            std::int64_t width);
CUDA_ONLY std::unique_ptr<Kernel> make_place_rows_cuda(CudaCompute& compute,
                                                       std::vector<RowRange> ranges,
                                                       std::int64_t total, std::int64_t width);

// Row k of the output is row rows[k] of the input, of so many columns. The run value is `rows`, of
// i32.
CpuMaker<std::int64_t> make_permute_rows_cpu;
CUDA_ONLY CudaMaker<std::int64_t> make_permute_rows_cuda;

}  // namespace skyline
