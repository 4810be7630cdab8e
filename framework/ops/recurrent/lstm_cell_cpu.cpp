#include "framework/ops/recurrent/lstm_cell_kernels.h"

namespace skyline {

LstmRows lstm_cell_rows(std::int64_t rows, std::int64_t units, const KernelArguments& arguments) {
  return {.rows = rows,
          .units = units,
          .sums = arguments.input<float>(0),
          .before = {arguments.input<float>(1), units},
          .gates = arguments.output<float>(1),
          .c = arguments.output<float>(2),
          .h = arguments.output<float>(0)};
}

LstmGradRows lstm_cell_grad_rows(std::int64_t rows, std::int64_t units,
                                 const KernelArguments& arguments) {
  return {.rows = rows,
          .units = units,
          .gates = arguments.input<float>(0),
          .before = {arguments.input<float>(1), units},
          .c = arguments.input<float>(2),
          .grad_h = arguments.input<float>(3),
          .more_grad_h = nullptr,
          .grad_c = arguments.input<float>(4),
          .grad_sums = arguments.output<float>(0),
          .grad_c_before = arguments.output<float>(1)};
}

namespace {

class LstmCellKernelCpu : public Kernel {
 public:
  LstmCellKernelCpu(std::int64_t rows, std::int64_t units) : rows_(rows), units_(units) {}

  void run(const KernelArguments& arguments) override {
    run_lstm_rows(lstm_cell_rows(rows_, units_, arguments));
  }

 private:
  std::int64_t rows_, units_;
};

class LstmCellGradKernelCpu : public Kernel {
 public:
  LstmCellGradKernelCpu(std::int64_t rows, std::int64_t units) : rows_(rows), units_(units) {}

  void run(const KernelArguments& arguments) override {
    run_lstm_grad_rows(lstm_cell_grad_rows(rows_, units_, arguments));
  }

 private:
  std::int64_t rows_, units_;
};

}  // namespace

std::unique_ptr<Kernel> make_lstm_cell_cpu(std::int64_t rows, std::int64_t units) {
  return std::make_unique<LstmCellKernelCpu>(rows, units);
}

std::unique_ptr<Kernel> make_lstm_cell_grad_cpu(std::int64_t rows, std::int64_t units) {
  return std::make_unique<LstmCellGradKernelCpu>(rows, units);
}

}  // namespace skyline
