#pragma once

#include "framework/ops/recurrent/lstm_rows_cpu.h"

namespace skyline {

class CudaCompute;

// Like run_lstm_rows and run_lstm_grad_rows, on the device. Every address is on the device and a
// multiple of 16 bytes.
void run_lstm_rows_cuda(CudaCompute& compute, const LstmRows& rows);
void run_lstm_grad_rows_cuda(CudaCompute& compute, const LstmGradRows& rows);

}  // namespace skyline
