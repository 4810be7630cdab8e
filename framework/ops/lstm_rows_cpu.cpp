#include "framework/ops/lstm_rows_cpu.h"

#include <algorithm>

#include "framework/ops/elementwise_cpu.h"
#include "framework/ops/lstm_unit.h"

namespace skyline {
namespace {

// Rows are shared among threads in pieces of so many units: steps near the end of a batch have
// fewer rows than there are threads.
constexpr std::int64_t kPiece = 128;
// A unit costs five transcendental functions.
constexpr std::int64_t kSerialUnits = kSerialTranscendental / 4;

// body(row, first unit, last unit) for all of `rows` x `units`.
template <typename Body>
void for_each_piece(std::int64_t rows, std::int64_t units, const Body& body) {
  const std::int64_t pieces = (units + kPiece - 1) / kPiece;
  for_each_index(rows * pieces, rows * units >= kSerialUnits, [&](std::int64_t index) {
    const std::int64_t begin = index % pieces * kPiece;
    body(index / pieces, begin, std::min(begin + kPiece, units));
  });
}

void forward_piece(const LstmRows& all, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const std::int64_t units = all.units;
  const float* sums = all.sums + row * 4 * units;
  const float* before = all.before.first + row * all.before.stride;
  float* gates = all.gates + row * 4 * units;
  float* c = all.c + row * units;
  float* h = all.h + row * units;
#pragma omp simd
  for (std::int64_t j = begin; j < end; ++j) {
    const LstmUnit unit =
        lstm_unit({sums[j], sums[units + j], sums[2 * units + j], sums[3 * units + j]}, before[j]);
    gates[j] = unit.gates.i;
    gates[units + j] = unit.gates.f;
    gates[2 * units + j] = unit.gates.g;
    gates[3 * units + j] = unit.gates.o;
    c[j] = unit.c;
    h[j] = unit.h;
  }
}

template <bool kMore>
void backward_piece(const LstmGradRows& all, std::int64_t row, std::int64_t begin,
                    std::int64_t end) {
  const std::int64_t units = all.units;
  const float* gates = all.gates + row * 4 * units;
  const float* before = all.before.first + row * all.before.stride;
  const float* c = all.c + row * units;
  const float* grad_h = all.grad_h + row * units;
  const float* more_grad_h = kMore ? all.more_grad_h + row * units : grad_h;
  const float* grad_c = all.grad_c + row * units;
  float* grad_sums = all.grad_sums + row * 4 * units;
  float* grad_c_before = all.grad_c_before + row * units;
#pragma omp simd
  for (std::int64_t j = begin; j < end; ++j) {
    const float whole_grad_h = kMore ? grad_h[j] + more_grad_h[j] : grad_h[j];
    const LstmUnitGrad grad =
        lstm_unit_grad({gates[j], gates[units + j], gates[2 * units + j], gates[3 * units + j]},
                       before[j], c[j], whole_grad_h, grad_c[j]);
    grad_sums[j] = grad.sums.i;
    grad_sums[units + j] = grad.sums.f;
    grad_sums[2 * units + j] = grad.sums.g;
    grad_sums[3 * units + j] = grad.sums.o;
    grad_c_before[j] = grad.c_before;
  }
}

}  // namespace

void run_lstm_rows(const LstmRows& rows) {
  for_each_piece(rows.rows, rows.units,
                 [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
                   forward_piece(rows, row, begin, end);
                 });
}

void run_lstm_grad_rows(const LstmGradRows& rows) {
  for_each_piece(rows.rows, rows.units,
                 [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
                   if (rows.more_grad_h != nullptr) {
                     backward_piece<true>(rows, row, begin, end);
                   } else {
                     backward_piece<false>(rows, row, begin, end);
                   }
                 });
}

}  // namespace skyline
