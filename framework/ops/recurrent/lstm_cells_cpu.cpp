#include <algorithm>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/recurrent/lstm_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// The loops below use plain numbers: g++ 12 does not vectorize loops that pass the gates in a
// struct, and a forward pass of 256 units then takes 22 ms, not 14.

// Threads share rows in pieces of this many units: steps near the end of a batch have fewer rows
// than there are threads.
constexpr std::int64_t kPiece = 128;
// A unit costs five transcendental functions.
constexpr std::int64_t kSerialUnits = kSerialTranscendental / 4;

// Calls body(row, first unit, last unit) for all of `rows` x `units`.
template <typename Body>
void for_each_piece(std::int64_t rows, std::int64_t units, const Body& body) {
  const std::int64_t pieces = (units + kPiece - 1) / kPiece;
  for_each_index(rows * pieces, rows * units >= kSerialUnits, [&](std::int64_t index) {
    const std::int64_t begin = index % pieces * kPiece;
    body(index / pieces, begin, std::min(begin + kPiece, units));
  });
}

// The same for some of the rows, on this thread.
template <typename Body>
void for_each_piece(std::int64_t rows, std::int64_t units, const RowTurns& turns,
                    const Body& body) {
  for (std::int64_t row = turns.first; row < rows; row += turns.step) {
    for (std::int64_t begin = 0; begin < units; begin += kPiece) {
      body(row, begin, std::min(begin + kPiece, units));
    }
  }
}

template <bool kBias>
void forward_piece(const LstmRows& all, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const std::int64_t units = all.units;
  const float* sums = all.sums + row * 4 * units;
  const float *bias_w = kBias ? all.bias_w : sums, *bias_u = kBias ? all.bias_u : sums;
  const float* before = all.before.first + row * all.before.stride;
  float* gates = all.gates + row * 4 * units;
  float* c = all.c + row * units;
  float* h = all.h + row * units;
  const auto sum = [=](std::int64_t at) {
    return kBias ? sums[at] + (bias_w[at] + bias_u[at]) : sums[at];
  };
  const SigmoidFunction sigmoid;
  const TanhFunction tanh;
#pragma omp simd
  for (std::int64_t j = begin; j < end; ++j) {
    const float i = sigmoid(sum(j));
    const float f = sigmoid(sum(units + j));
    const float g = tanh(sum(2 * units + j));
    const float o = sigmoid(sum(3 * units + j));
    const float after = f * before[j] + i * g;
    gates[j] = i;
    gates[units + j] = f;
    gates[2 * units + j] = g;
    gates[3 * units + j] = o;
    c[j] = after;
    h[j] = o * tanh(after);
  }
  if (row < all.running) return;
  std::copy(c + begin, c + end, all.last_c + row * units + begin);
  std::copy(h + begin, h + end, all.last_h + row * units + begin);
}

template <bool kMore>
void backward_piece(const LstmGradRows& all, std::int64_t row, std::int64_t begin,
                    std::int64_t end) {
  const std::int64_t units = all.units;
  const float* gates = all.gates + row * 4 * units;
  const float* before = all.before.first + row * all.before.stride;
  const float* c = all.c + row * units;
  const float* grad_h = all.grad_h + row * units;
  const float* more_grad_h = kMore ? all.after.h_of(row) + row * units : grad_h;
  const float* grad_c = all.after.c_of(row) + row * units;
  float* grad_sums = all.grad_sums + row * 4 * units;
  float* grad_c_before = all.grad_c_before + row * units;
  const TanhFunction tanh;
#pragma omp simd
  for (std::int64_t j = begin; j < end; ++j) {
    const float i = gates[j], f = gates[units + j];
    const float g = gates[2 * units + j], o = gates[3 * units + j];
    const float squashed = tanh(c[j]);
    const float of_h = kMore ? grad_h[j] + more_grad_h[j] : grad_h[j];
    const float of_c = grad_c[j] + of_h * o * (1.0f - squashed * squashed);
    const float of_f = of_c * before[j] * f * (1.0f - f);
    grad_sums[j] = of_c * g * i * (1.0f - i);
    grad_sums[units + j] = of_f;
    grad_sums[2 * units + j] = of_c * i * (1.0f - g * g);
    grad_sums[3 * units + j] = of_h * squashed * o * (1.0f - o);
    grad_c_before[j] = of_c * f;
  }
}

// `turns` as in for_each_piece().
void run_pieces(const LstmRows& rows, const auto&... turns) {
  const auto piece = rows.bias_w != nullptr ? forward_piece<true> : forward_piece<false>;
  for_each_piece(rows.rows, rows.units, turns..., [&](auto... place) { piece(rows, place...); });
}

void run_pieces(const LstmGradRows& rows, const auto&... turns) {
  const auto piece = rows.after.h != nullptr ? backward_piece<true> : backward_piece<false>;
  for_each_piece(rows.rows, rows.units, turns..., [&](auto... place) { piece(rows, place...); });
}

}  // namespace

void run_lstm_rows(const LstmRows& rows) { run_pieces(rows); }
void run_lstm_rows(const LstmRows& rows, const RowTurns& turns) { run_pieces(rows, turns); }
void run_lstm_grad_rows(const LstmGradRows& rows) { run_pieces(rows); }
void run_lstm_grad_rows(const LstmGradRows& rows, const RowTurns& turns) {
  run_pieces(rows, turns);
}

LstmRows lstm_cell_rows(const LstmCellProblem& problem, const KernelArguments& arguments) {
  return {.rows = problem.rows,
          .units = problem.units,
          .sums = arguments.input<float>(0),
          .before = {arguments.input<float>(1), problem.units},
          .gates = arguments.output<float>(1),
          .c = arguments.output<float>(2),
          .h = arguments.output<float>(0)};
}

LstmGradRows lstm_cell_grad_rows(const LstmCellProblem& problem, const KernelArguments& arguments) {
  return {.rows = problem.rows,
          .units = problem.units,
          .gates = arguments.input<float>(0),
          .before = {arguments.input<float>(1), problem.units},
          .c = arguments.input<float>(2),
          .grad_h = arguments.input<float>(3),
          .after = {.h = nullptr, .c = arguments.input<float>(4)},
          .grad_sums = arguments.output<float>(0),
          .grad_c_before = arguments.output<float>(1)};
}

std::unique_ptr<Kernel> make_lstm_cell_cpu(const LstmCellProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    run_lstm_rows(lstm_cell_rows(problem, arguments));
  });
}

std::unique_ptr<Kernel> make_lstm_cell_grad_cpu(const LstmCellProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    run_lstm_grad_rows(lstm_cell_grad_rows(problem, arguments));
  });
}

}  // namespace skyline
