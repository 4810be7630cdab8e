#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/recurrent/lstm_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

template <int kWidth>
struct ForwardBody {
  LstmRows rows;
  Divider pieces_per_row;

  // Returns what gate `gate` is computed from.
  __device__ Vector<float, kWidth> sums(int gate, std::int64_t row, std::int64_t unit) const {
    const std::int64_t at = gate * rows.units + unit;
    auto sums = load<kWidth>(rows.sums + row * 4 * rows.units + at);
    if (rows.bias_w == nullptr) return sums;
    const auto bias_w = load<kWidth>(rows.bias_w + at), bias_u = load<kWidth>(rows.bias_u + at);
    for (int k = 0; k < kWidth; ++k) sums.at[k] += bias_w.at[k] + bias_u.at[k];
    return sums;
  }

  __device__ void operator()(std::int64_t piece) const {
    const auto [row, place] = pieces_per_row(piece);
    const std::int64_t units = rows.units, unit = place * kWidth;
    const std::int64_t gates = row * 4 * units + unit, at = row * units + unit;
    auto i = sums(0, row, unit), f = sums(1, row, unit), g = sums(2, row, unit);
    auto o = sums(3, row, unit);
    auto c = load<kWidth>(rows.before.first + row * rows.before.stride + unit);
    Vector<float, kWidth> h;
    const SigmoidFunction sigmoid;
    const TanhFunction tanh;
    for (int k = 0; k < kWidth; ++k) {
      i.at[k] = sigmoid(i.at[k]);
      f.at[k] = sigmoid(f.at[k]);
      g.at[k] = tanh(g.at[k]);
      o.at[k] = sigmoid(o.at[k]);
      c.at[k] = f.at[k] * c.at[k] + i.at[k] * g.at[k];
      h.at[k] = o.at[k] * tanh(c.at[k]);
    }
    store(rows.gates + gates, i);
    store(rows.gates + gates + units, f);
    store(rows.gates + gates + 2 * units, g);
    store(rows.gates + gates + 3 * units, o);
    store(rows.c + at, c);
    store(rows.h + at, h);
    if (row < rows.running) return;
    store(rows.last_c + at, c);
    store(rows.last_h + at, h);
  }
};

template <int kWidth>
struct BackwardBody {
  LstmGradRows rows;
  Divider pieces_per_row;

  __device__ void operator()(std::int64_t piece) const {
    const auto [row, place] = pieces_per_row(piece);
    const std::int64_t units = rows.units, unit = place * kWidth;
    const std::int64_t gates = row * 4 * units + unit, at = row * units + unit;
    auto i = load<kWidth>(rows.gates + gates), f = load<kWidth>(rows.gates + gates + units);
    auto g = load<kWidth>(rows.gates + gates + 2 * units);
    auto o = load<kWidth>(rows.gates + gates + 3 * units);
    const auto before = load<kWidth>(rows.before.first + row * rows.before.stride + unit);
    const auto c = load<kWidth>(rows.c + at);
    auto grad_h = load<kWidth>(rows.grad_h + at);
    auto grad_c = load<kWidth>(rows.after.c_of(row) + at);
    if (rows.after.h != nullptr) {
      const auto more = load<kWidth>(rows.after.h_of(row) + at);
      for (int k = 0; k < kWidth; ++k) grad_h.at[k] += more.at[k];
    }
    for (int k = 0; k < kWidth; ++k) {
      const float squashed = TanhFunction{}(c.at[k]), of_h = grad_h.at[k];
      const float of_c = grad_c.at[k] + of_h * o.at[k] * (1.0f - squashed * squashed);
      const float of_f = of_c * before.at[k] * f.at[k] * (1.0f - f.at[k]);
      const float of_i = of_c * g.at[k] * i.at[k] * (1.0f - i.at[k]);
      grad_c.at[k] = of_c * f.at[k];
      g.at[k] = of_c * i.at[k] * (1.0f - g.at[k] * g.at[k]);
      o.at[k] = of_h * squashed * o.at[k] * (1.0f - o.at[k]);
      i.at[k] = of_i;
      f.at[k] = of_f;
    }
    store(rows.grad_sums + gates, i);
    store(rows.grad_sums + gates + units, f);
    store(rows.grad_sums + gates + 2 * units, g);
    store(rows.grad_sums + gates + 3 * units, o);
    store(rows.grad_c_before + at, grad_c);
  }
};

template <template <int> typename Body, typename Rows>
void run(CudaCompute& compute, const Rows& rows) {
  with_width(rows.units % kFloats == 0, [&](auto width) {
    const std::int64_t pieces = rows.units / width;
    for_each_index(compute, rows.rows * pieces, Body<width.value>{rows, Divider(pieces)});
  });
}

}  // namespace

void run_lstm_rows_cuda(CudaCompute& compute, const LstmRows& rows) {
  run<ForwardBody>(compute, rows);
}

void run_lstm_grad_rows_cuda(CudaCompute& compute, const LstmGradRows& rows) {
  run<BackwardBody>(compute, rows);
}

std::unique_ptr<Kernel> make_lstm_cell_cuda(CudaCompute& compute, const LstmCellProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    run_lstm_rows_cuda(compute, lstm_cell_rows(problem, arguments));
  });
}

std::unique_ptr<Kernel> make_lstm_cell_grad_cuda(CudaCompute& compute,
                                                 const LstmCellProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    run_lstm_grad_rows_cuda(compute, lstm_cell_grad_rows(problem, arguments));
  });
}

}  // namespace skyline
