#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "framework/compute.h"
#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/recurrent/packed_shape.h"

namespace skyline {

// The cells before a step: row k is at `first + k * stride`; stride 0 repeats one row (zeros).
struct LstmCellsBefore {
  const float* first = nullptr;
  std::int64_t stride = 0;
};

// One word of `rows` sentences of `units` units: i, f, o = sigmoid and g = tanh of `sums`
// [rows, 4 units] + (bias_w + bias_u) [4 units], c = f c_before + i g, h = o tanh(c). The biases
// are null if `sums` has them. `gates` may be `sums`, c may be the cells before. The sentences of
// the rows from `running` on end here: h and c of row k go to row k of last_h and last_c, too.
struct LstmRows {
  std::int64_t rows;
  std::int64_t units;
  const float* sums;
  const float* bias_w = nullptr;
  const float* bias_u = nullptr;
  LstmCellsBefore before;
  float* gates;
  float* c;
  float* h;
  std::int64_t running = std::numeric_limits<std::int64_t>::max();
  float* last_h = nullptr;
  float* last_c = nullptr;
};
void run_lstm_rows(const LstmRows& rows);

// Rows first, first + step, … of a word. Threads that take turns at the sentences, sorted by
// length, have as many words each.
struct RowTurns {
  std::int64_t first = 0, step = 1;

  std::int64_t count(std::int64_t rows) const {
    return rows <= first ? 0 : (rows - first + step - 1) / step;
  }
};
// The same for some of the rows, on this thread.
void run_lstm_rows(const LstmRows& rows, const RowTurns& turns);

// The gradients that reach an output and a cell from the next word. The rows of h and c from
// `running` on are not written yet: their sentences end at this word, and last_h and last_c come
// from outside.
struct LstmGradAfter {
  const float* h;  // null: nothing, last_h neither
  const float* c;
  std::int64_t running = std::numeric_limits<std::int64_t>::max();
  const float* last_h = nullptr;
  const float* last_c = nullptr;

  SKYLINE_HOST_DEVICE const float* h_of(std::int64_t row) const {
    return row < running ? h : last_h;
  }
  SKYLINE_HOST_DEVICE const float* c_of(std::int64_t row) const {
    return row < running ? c : last_c;
  }
};

// The gradients of `sums` and of the cells before. The gradient of h is grad_h plus that of
// `after`; grad_sums may be `gates`, grad_c_before may be after.c.
struct LstmGradRows {
  std::int64_t rows;
  std::int64_t units;
  const float* gates;
  LstmCellsBefore before;
  const float* c;
  const float* grad_h;
  LstmGradAfter after;
  float* grad_sums;
  float* grad_c_before;
};
void run_lstm_grad_rows(const LstmGradRows& rows);
void run_lstm_grad_rows(const LstmGradRows& rows, const RowTurns& turns);

// Like run_lstm_rows and run_lstm_grad_rows, on the device. Every address is on the device and a
// multiple of 16 bytes.
void run_lstm_rows_cuda(CudaCompute& compute, const LstmRows& rows);
void run_lstm_grad_rows_cuda(CudaCompute& compute, const LstmGradRows& rows);

struct LstmCellProblem {
  std::int64_t rows = 0;
  std::int64_t units = 0;
};

// Inputs gates [rows, 4 units] before the nonlinearities, c [rows, units]; outputs h, the activated
// gates and c. The last two may be the inputs.
CpuMaker<LstmCellProblem> make_lstm_cell_cpu;
CUDA_ONLY CudaMaker<LstmCellProblem> make_lstm_cell_cuda;

// Inputs activated gates, c before, c after, grad_h, grad_c; outputs grad_gates, which may be the
// activated gates, and the gradient of c before, which may be grad_c or grad_h.
CpuMaker<LstmCellProblem> make_lstm_cell_grad_cpu;
CUDA_ONLY CudaMaker<LstmCellProblem> make_lstm_cell_grad_cuda;

// Returns what these kernels compute, at the addresses of their arguments.
LstmRows lstm_cell_rows(const LstmCellProblem& problem, const KernelArguments& arguments);
LstmGradRows lstm_cell_grad_rows(const LstmCellProblem& problem, const KernelArguments& arguments);

// One LSTM over one packed batch, with all its extents.
struct LstmProblem {
  PackedShape shape;
  std::int64_t in = 1;
  std::int64_t units = 1;   // H
  std::int64_t layers = 1;  // L
  bool state = false;       // sentences start at a given state, not at zeros
  bool retained = true;     // backward will follow: the reserve is an output
  bool packed = false;      // one more output holds a copy of all weights; dry runs only
  // The input of layer 2 has it, if there is dropout; the next layers have the next streams.
  std::optional<DropoutMask> mask = {};

  std::int64_t rows() const { return shape.rows(); }
  std::int64_t gates() const { return 4 * units; }
  std::int64_t sentences() const { return shape.sentences(); }
  std::int64_t input_width(std::int64_t layer) const { return layer == 0 ? in : units; }
  bool drops(std::int64_t layer) const { return layer > 0 && mask; }
  // Requires drops(layer).
  DropoutMask mask_of(std::int64_t layer) const {
    DropoutMask of_layer = *mask;
    of_layer.offset = static_cast<std::uint64_t>(layer) - 1;
    return of_layer;
  }
};

// Offsets of each layer's tensors in the reserve, in floats. If no backward pass follows, the
// layers share one place for gates and cells and take turns at two for their outputs.
class LstmReserve {
 public:
  explicit LstmReserve(const LstmProblem& problem);

  std::int64_t gates(std::int64_t layer) const { return layer * layer_stride_; }
  std::int64_t cells(std::int64_t layer) const { return gates(layer) + gates_; }
  // Offset of a layer's outputs; the last layer's outputs are y.
  std::int64_t outputs(std::int64_t layer) const {
    return outputs_ + layer % output_slots_ * width_;
  }
  std::int64_t floats() const { return floats_; }

 private:
  std::int64_t gates_, width_;  // of one layer's gates; of its cells, or of its outputs
  std::int64_t layer_stride_;
  std::int64_t outputs_;
  std::int64_t output_slots_;
  std::int64_t floats_;
};

// The gradients that the backward pass writes, as outputs in this order.
struct LstmGradients {
  bool x = false;
  bool state = false;    // of h and c
  bool weights = false;  // of w, u, bias_w, bias_u, layer by layer
};

struct LstmGradProblem {
  LstmProblem forward;
  LstmGradients gradients;
};

// Inputs x, with a state h and c, and w, u, bias_w, bias_u layer by layer; outputs y, c, h and, if
// retained, the reserve f32 [LstmReserve::floats()]. The run value is the stream of problem.mask,
// in backward, too. On the CPU with lanes, those of a wide op share rows and products; no bit
// depends on their number, but the workspace does.
CpuOptionsMaker<LstmProblem> make_lstm_cpu;
CUDA_ONLY CudaMaker<LstmProblem> make_lstm_cuda;

// Inputs x, with a state h and c, then y, reserve, grad_y, grad_h, grad_c, and w, u layer by layer.
CpuOptionsMaker<LstmGradProblem> make_lstm_grad_cpu;
CUDA_ONLY CudaMaker<LstmGradProblem> make_lstm_grad_cuda;

}  // namespace skyline
