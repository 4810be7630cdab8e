#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"
#include "framework/ops/recurrent/lstm_rows_cpu.h"

namespace skyline {

// Inputs gates [rows, 4 units] before the nonlinearities, c [rows, units]; outputs h, the activated
// gates and c. The last two may be the inputs.
std::unique_ptr<Kernel> make_lstm_cell_cpu(std::int64_t rows, std::int64_t units);
CUDA_ONLY std::unique_ptr<Kernel> make_lstm_cell_cuda(CudaCompute& compute, std::int64_t rows,
                                                      std::int64_t units);

// Inputs activated gates, c before, c after, grad_h, grad_c; outputs grad_gates, which may be the
// activated gates, and the gradient of c before, which may be grad_c or grad_h.
std::unique_ptr<Kernel> make_lstm_cell_grad_cpu(std::int64_t rows, std::int64_t units);
CUDA_ONLY std::unique_ptr<Kernel> make_lstm_cell_grad_cuda(CudaCompute& compute, std::int64_t rows,
                                                           std::int64_t units);

// Returns what these kernels compute, at the addresses of their arguments.
LstmRows lstm_cell_rows(std::int64_t rows, std::int64_t units, const KernelArguments& arguments);
LstmGradRows lstm_cell_grad_rows(std::int64_t rows, std::int64_t units,
                                 const KernelArguments& arguments);

}  // namespace skyline
