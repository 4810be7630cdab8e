#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/loss/softmax.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Rows are cut into this many chunks on any number of threads, and the chunks' losses are added in
// order, so the sum is the same on any machine.
constexpr std::int64_t kLossChunks = 64;

void check_labels(const std::int32_t* labels, const CrossEntropyProblem& problem) {
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    if (labels[row] >= 0 && labels[row] < problem.classes) continue;
    throw LabelError(row, labels[row], problem.classes);
  }
}

// The targets of rows. Without weights, each class has weight 1.
class Targets {
 public:
  Targets(const CrossEntropyProblem& problem, const std::int32_t* labels, const float* weights)
      : problem_(problem), labels_(labels), weights_(weights) {
    for (std::int64_t k = 0; weights != nullptr && k < problem.classes; ++k) sum_ += weights[k];
  }
  std::int64_t classes() const { return problem_.classes; }
  std::int32_t label(std::int64_t row) const { return labels_[row]; }
  float weight(std::int64_t k) const { return weights_ == nullptr ? 1.0f : weights_[k]; }
  CrossEntropyTarget of(std::int64_t row) const {
    const double classes = static_cast<double>(problem_.classes);
    return target_of(problem_, weight(labels_[row]),
                     weights_ == nullptr ? 1.0f : static_cast<float>(sum_ / classes));
  }
  double divisor() const {
    double sum = problem_.divisor;
    for (std::int64_t row = 0; problem_.divisor == 0 && row < problem_.rows; ++row) {
      sum += weight(labels_[row]);
    }
    return sum;
  }
  // Returns the sum of a row's target times its logits, each less the largest.
  double wanted_logits(const CrossEntropyTarget& target, const float* logits, float largest,
                       std::int32_t label) const {
    double sum = target.of_label * (double{logits[label]} - double{largest});
    for (std::int64_t k = 0; target.of_each > 0 && k < problem_.classes; ++k) {
      sum += double{target.of_each * weight(k)} * (double{logits[k]} - double{largest});
    }
    return sum;
  }

 private:
  const CrossEntropyProblem& problem_;
  const std::int32_t* labels_;
  const float* weights_;
  double sum_ = 0;
};

// A row's loss, and what makes probabilities of the exponentials of its logits.
struct RowSoftmax {
  double loss;
  float scale;
};

// Writes exp(logit - the largest) for the logits of a row to `exponentials`, which may be `logits`.
RowSoftmax exponentials_of_row(const Targets& targets, std::int64_t row, const float* logits,
                               float* exponentials) {
  const std::int64_t classes = targets.classes();
  const CrossEntropyTarget target = targets.of(row);
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < classes; ++k) {
    largest = logits[k] > largest ? logits[k] : largest;  // std::max is 25 times slower here
  }
  const double wanted = targets.wanted_logits(target, logits, largest, targets.label(row));
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < classes; ++k) {
    exponentials[k] = exponential(logits[k] - largest);
    total += exponentials[k];
  }
  return {target.total * std::log(double{total}) - wanted, 1.0f / total};
}

void log_softmax_row(const float* logits, float* output, std::int64_t columns) {
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < columns; ++k) largest = logits[k] > largest ? logits[k] : largest;
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < columns; ++k) total += exponential(logits[k] - largest);
  const float logarithm = std::log(total);
#pragma omp simd
  for (std::int64_t k = 0; k < columns; ++k) output[k] = logits[k] - largest - logarithm;
}

// Finds the largest element first, which vectorizes, then its column. OpenMP does not say whether a
// maximum begins at minus infinity or at the least finite number; no element need equal the latter.
std::int32_t largest_column(const float* row, std::int64_t columns) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < columns; ++k) largest = row[k] > largest ? row[k] : largest;
  const float* found = std::find(row, row + columns, largest);
  if (found == row + columns) {
    found = std::find_if(row, row + columns, [](float value) { return !std::isnan(value); });
  }
  return found == row + columns ? 0 : static_cast<std::int32_t>(found - row);
}

// Writes the gradient of a row's logits over `values`, whose products with `to_probability` are
// its probabilities, or beside them.
void softmax_grad_row(const Targets& targets, std::int64_t row, float scale, const float* values,
                      float to_probability, float* grad_logits) {
  const std::int64_t classes = targets.classes();
  const CrossEntropyTarget target = targets.of(row);
  const std::int32_t label = targets.label(row);
  const float wanted = target.of_label + target.of_each * targets.weight(label);
  const float of_label = (target.total * (values[label] * to_probability) - wanted) * scale;
  if (target.of_each > 0) {
    for (std::int64_t k = 0; k < classes; ++k) {
      const float share = target.of_each * targets.weight(k);
      grad_logits[k] = (target.total * (values[k] * to_probability) - share) * scale;
    }
  } else {
    const float factor = target.total * scale;
#pragma omp simd
    for (std::int64_t k = 0; k < classes; ++k) {
      grad_logits[k] = values[k] * to_probability * factor;
    }
  }
  grad_logits[label] = of_label;
}

// Calls loss_of(row) for some rows; returns the sum.
template <typename LossOf>
double sum_losses(const RowRange& rows, std::int64_t classes, const LossOf& loss_of) {
  std::array<double, kLossChunks> losses{};
  const bool parallel = rows.count * classes >= kSerialTranscendental;
  for_each_index(kLossChunks, parallel, [&](std::int64_t chunk) {
    const std::int64_t end = rows.first + (chunk + 1) * rows.count / kLossChunks;
    double loss = 0;
    for (std::int64_t row = rows.first + chunk * rows.count / kLossChunks; row < end; ++row) {
      loss += loss_of(row);
    }
    losses[static_cast<std::size_t>(chunk)] = loss;
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// Writes the sum of each column, or adds it to what is there.
void sum_columns(const float* matrix, std::int64_t rows, std::int64_t columns, bool add,
                 float* sums) {
  const bool parallel = rows * columns >= kSerialArithmetic;
  for_each_range(columns, parallel, kVectors, [&](std::int64_t begin, std::int64_t end) {
    if (!add) std::fill(sums + begin, sums + end, 0.0f);
    for (std::int64_t first = begin; first < end; first += kVectors) {
      const std::int64_t count = std::min(kVectors, end - first);
      float total[kVectors] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* values = matrix + row * columns + first;
        for (std::int64_t i = 0; i < count; ++i) total[i] += values[i];
      }
      for (std::int64_t i = 0; i < count; ++i) sums[first + i] += total[i];
    }
  });
}

class LinearCrossEntropyCpu final : public Kernel {
 public:
  LinearCrossEntropyCpu(const CpuOptions& options, const LinearCrossEntropyProblem& problem)
      : problem_(problem) {
    for (const RowRange& rows : problem.panels()) {
      const bool like_before = panels_.size() > 1 && panels_.back().rows.count == rows.count;
      panels_.push_back(like_before ? panels_.back() : make_panel(options, rows));
      panels_.back().rows = rows;
    }
    for (const Panel& panel : panels_) {
      for (const auto& kernel : {panel.logits, panel.grad_weight, panel.grad_x}) {
        if (kernel) scratch_bytes_ = std::max(scratch_bytes_, kernel->workspace_bytes());
      }
    }
    logits_ = workspace_.add_floats(panels_.front().rows.count * problem.loss.classes);
    scratch_ = workspace_.add(scratch_bytes_);
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(const KernelArguments& arguments) override {
    const std::size_t place = problem_.labels();
    const auto* labels = arguments.input<std::int32_t>(place);
    check_labels(labels, problem_.loss);
    const Targets targets(problem_.loss, labels,
                          problem_.loss.weighted ? arguments.input<float>(place + 1) : nullptr);
    const double divisor = targets.divisor();
    double loss = 0;
    for (const Panel& panel : panels_) {
      loss += run_panel(panel, targets, 1 / static_cast<float>(divisor), arguments);
    }
    *arguments.output<float>(0) = static_cast<float>(loss / divisor);
  }

 private:
  // A panel's products; null: not wanted.
  struct Panel {
    RowRange rows;
    std::shared_ptr<Kernel> logits, grad_weight, grad_x;
  };

  Panel make_panel(const CpuOptions& options, const RowRange& rows) const {
    LinearProblem part = problem_.linear;
    part.x = {rows.count, part.x[1]};
    part.y = {rows.count, part.y[1]};
    Panel panel{.rows = rows, .logits = make_linear_cpu(options, part)};
    if (problem_.grad_weight) {
      panel.grad_weight = make_linear_weight_sum_cpu(options, part, rows.first > 0);
    }
    if (problem_.grad_x) panel.grad_x = make_linear_grad_input_cpu(options, part);
    return panel;
  }

  // Returns the sum of the rows' losses. grad_x comes last, because it may be x.
  double run_panel(const Panel& panel, const Targets& targets, float scale,
                   const KernelArguments& arguments) const {
    const std::size_t x_bytes = offset_bytes(panel.rows, problem_.linear.x[1]);
    std::byte* const scratch = arguments.workspace + scratch_;
    std::byte* const at_logits = arguments.workspace + logits_;
    auto* const logits = reinterpret_cast<float*>(at_logits);
    const std::byte* const x = arguments.inputs[0] + x_bytes;
    const std::byte* const weight = arguments.inputs[1];
    const auto run = [scratch](Kernel& kernel, std::initializer_list<const std::byte*> inputs,
                               std::byte* output) {
      kernel.run({{inputs.begin(), inputs.size()}, {&output, 1}, scratch});
    };
    run(*panel.logits, {x, weight, problem_.linear.bias ? arguments.inputs[2] : nullptr},
        at_logits);
    const bool makes_gradients = problem_.makes_gradients();
    const double loss = sum_losses(panel.rows, targets.classes(), [&](std::int64_t row) {
      float* const of_row = logits + (row - panel.rows.first) * targets.classes();
      const RowSoftmax softmax = exponentials_of_row(targets, row, of_row, of_row);
      if (makes_gradients) {  // while the row is cached
        softmax_grad_row(targets, row, scale, of_row, softmax.scale, of_row);
      }
      return softmax.loss;
    });
    if (problem_.grad_weight) {
      run(*panel.grad_weight, {x, at_logits}, arguments.outputs[problem_.grad_x ? 2 : 1]);
    }
    if (problem_.grad_bias) {
      sum_columns(logits, panel.rows.count, problem_.loss.classes, panel.rows.first > 0,
                  arguments.output<float>(arguments.outputs.size() - 1));
    }
    if (problem_.grad_x) run(*panel.grad_x, {weight, at_logits}, arguments.outputs[1] + x_bytes);
    return loss;
  }

  LinearCrossEntropyProblem problem_;
  std::vector<Panel> panels_;
  WorkspaceLayout workspace_;
  std::size_t logits_ = 0, scratch_ = 0, scratch_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const auto* labels = arguments.input<std::int32_t>(1);
    check_labels(labels, problem);
    const Targets targets(problem, labels, problem.weighted ? arguments.input<float>(2) : nullptr);
    const double total = sum_losses({0, problem.rows}, problem.classes, [&](std::int64_t row) {
      float* const probabilities = arguments.output<float>(1) + row * problem.classes;
      const RowSoftmax softmax = exponentials_of_row(
          targets, row, arguments.input<float>(0) + row * problem.classes, probabilities);
      for (std::int64_t k = 0; k < problem.classes; ++k) probabilities[k] *= softmax.scale;
      return softmax.loss;
    });
    *arguments.output<float>(0) = static_cast<float>(total / targets.divisor());
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const auto* labels = arguments.input<std::int32_t>(2);
    check_labels(labels, problem);
    const Targets targets(problem, labels, problem.weighted ? arguments.input<float>(3) : nullptr);
    const float scale = *arguments.input<float>(0) / static_cast<float>(targets.divisor());
    const bool parallel = problem.rows * problem.classes >= kSerialArithmetic;
    for_each_index(problem.rows, parallel, [&](std::int64_t row) {
      const std::int64_t at = row * problem.classes;
      softmax_grad_row(targets, row, scale, arguments.input<float>(1) + at, 1,
                       arguments.output<float>(0) + at);
    });
  });
}

std::unique_ptr<Kernel> make_linear_cross_entropy_cpu(const CpuOptions& options,
                                                      const LinearCrossEntropyProblem& problem) {
  return std::make_unique<LinearCrossEntropyCpu>(options, problem);
}

std::unique_ptr<Kernel> make_scale_gradients_cpu(const ScaleProblem& elements) {
  return make_kernel([elements](const KernelArguments& arguments) {
    const float factor = *arguments.input<float>(0);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const float* from = arguments.input<float>(i + 1);
      float* to = arguments.output<float>(i);
      if (from == to && factor == 1) continue;
      const bool parallel = elements[i] >= kSerialArithmetic;
      for_each_range(elements[i], parallel, kVectors, [&](std::int64_t begin, std::int64_t end) {
        std::transform(from + begin, from + end, to + begin,
                       [factor](float value) { return value * factor; });
      });
    }
  });
}

std::unique_ptr<Kernel> make_log_softmax_cpu(const LogitsProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, columns = problem.columns;
    for_each_index(rows, rows * columns >= kSerialTranscendental, [&](std::int64_t row) {
      log_softmax_row(arguments.input<float>(0) + row * columns,
                      arguments.output<float>(0) + row * columns, columns);
    });
  });
}

std::unique_ptr<Kernel> make_argmax_cpu(const LogitsProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, columns = problem.columns;
    for_each_index(rows, rows * columns >= kSerialArithmetic, [&](std::int64_t row) {
      arguments.output<std::int32_t>(0)[row] =
          largest_column(arguments.input<float>(0) + row * columns, columns);
    });
  });
}

}  // namespace skyline
