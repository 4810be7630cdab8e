#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/loss/targets_cpu.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/panel_products.h"

namespace skyline {
namespace {

// The panels' logits are transposed: a class's logits of all rows lie side by side. So each loop
// reads and writes logits, weight and gradients in the sequence of the classes, a thread some
// classes at a time, and no product needs a copy of the logits. The products are PanelProducts, so
// no bit depends on the number of threads.
class LinearCrossEntropyCpu final : public Kernel {
 public:
  explicit LinearCrossEntropyCpu(const LinearCrossEntropyProblem& problem)
      : problem_(problem),
        features_(problem.linear.x[1]),
        columns_(panel_floats(1, problem.panels().front().count)),
        blocks_((problem.loss.classes + kBlock - 1) / kBlock) {
    logits_ = workspace_.add_floats(problem.loss.classes * columns_);
    sums_ = workspace_.add_floats(blocks_ * columns_);
    if (smooths()) wanted_ = workspace_.add_floats(blocks_ * columns_);
    const std::int64_t rows = problem.grad_weight ? problem.panels().front().count : 0;
    const std::int64_t classes = problem.grad_x ? std::min(kBlock, problem.loss.classes) : 0;
    packed_ = workspace_.add_floats(
        std::max(features_ * columns_, panel_floats(std::max(rows, classes), features_)));
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
    for (const RowRange& rows : problem_.panels()) {
      loss += run_panel({rows, panel_floats(1, rows.count), targets, arguments},
                        1 / static_cast<float>(divisor));
    }
    *arguments.output<float>(0) = static_cast<float>(loss / divisor);
  }

 private:
  static constexpr std::int64_t kRows = LinearCrossEntropyProblem::kPanelRows, kBand = 24;
  // Classes whose sums are floats. Odd, so that the panels of a packed block of the weight do not
  // meet in few sets of the caches.
  static constexpr std::int64_t kBlock = 475;
  using RowValues = std::array<float, kRows>;
  struct Rows {
    RowValues largest, of_labels;  // logits
    RowValues factors{};           // of exponentials, in the gradients
  };

  struct Panel {
    RowRange rows;
    std::int64_t columns;  // the rows, and what fills the last panel of a product
    const Targets& targets;
    const KernelArguments& arguments;
    float* floats(std::size_t offset) const {
      return reinterpret_cast<float*>(arguments.workspace + offset);
    }
  };

  RowRange block(std::int64_t index) const {
    const std::int64_t first = index * kBlock;
    return {first, std::min(kBlock, problem_.loss.classes - first)};
  }

  template <typename Body>
  void for_each_block(const Body& body) const {
    for_each_index(blocks_, columns_ * problem_.loss.classes >= kSerialTranscendental, body);
  }

  // Calls body(band) for ranges of few classes within a block.
  template <typename Body>
  static void for_each_band(const RowRange& block, const Body& body) {
    for (std::int64_t first = 0; first < block.count; first += kBand) {
      body(RowRange{block.first + first, std::min(kBand, block.count - first)});
    }
  }

  bool smooths() const { return problem_.loss.smoothing > 0; }
  float* logits(const Panel& panel, std::int64_t label) const {
    return panel.floats(logits_) + label * columns_;
  }
  float* sums(const Panel& panel, std::int64_t block) const {
    return panel.floats(sums_) + block * columns_;
  }

  // Returns the sum of the rows' losses. grad_x comes last, because it may be x.
  double run_panel(const Panel& panel, float scale) const {
    const std::int64_t in = features_, count = panel.rows.count;
    const float* const x = panel.arguments.input<float>(0) + panel.rows.first * in;
    pack(panel, {.values = x, .row = 1, .column = in, .rows = in, .columns = count});
    for_each_block([&](std::int64_t block) { write_logits(panel, block); });
    Rows all{.largest = largest_logits(panel)};
    for (std::int64_t row = 0; row < count; ++row) {
      all.of_labels[row] = logits(panel, panel.targets.label(panel.rows.first + row))[row];
    }
    for_each_block([&](std::int64_t block) { write_exponentials(panel, block, all.largest); });
    const double loss = add_up(panel, scale, all);
    if (!problem_.makes_gradients()) return loss;
    if (problem_.grad_weight) {
      pack(panel, {.values = x, .row = in, .column = 1, .rows = count, .columns = in});
    }
    for_each_block([&](std::int64_t index) {
      for_each_band(block(index), [&](const RowRange& band) {
        write_gradients(panel, band, all.factors, scale);
        if (problem_.grad_bias) add_to_bias(panel, band);
        if (problem_.grad_weight) add_to_weight(panel, band);
      });
    });
    for (std::int64_t index = 0; problem_.grad_x && index < blocks_; ++index) {
      add_grad_x(panel, block(index));
    }
    return loss;
  }

  void pack(const Panel& panel, const PanelMatrix& matrix) const {
    const bool parallel = matrix.rows * matrix.columns >= kSerialArithmetic;
    for_each_index(panel_count(matrix.columns), parallel,
                   [&](std::int64_t i) { pack_panel(matrix, i, panel.floats(packed_)); });
  }

  // Writes a block's logits, and the largest of each row to its sums.
  void write_logits(const Panel& panel, std::int64_t index) const {
    const auto* const weight = panel.arguments.input<float>(1);
    const float* const bias = problem_.linear.bias ? panel.arguments.input<float>(2) : nullptr;
    float* const largest = sums(panel, index);
    std::fill_n(largest, panel.columns, -std::numeric_limits<float>::infinity());
    for_each_band(block(index), [&](const RowRange& band) {
      multiply_panels(panel.columns, {.left = weight + band.first * features_,
                                      .left_row = features_,
                                      .left_column = 1,
                                      .right = panel.floats(packed_),
                                      .result = logits(panel, band.first),
                                      .result_row = columns_,
                                      .rows = band.count,
                                      .depth = features_,
                                      .adds = false});
      for (std::int64_t k = band.first; k < band.first + band.count; ++k) {
        const float added = bias == nullptr ? 0 : bias[k];
        float* const of_class = logits(panel, k);
#pragma omp simd
        for (std::int64_t row = 0; row < panel.columns; ++row) {
          of_class[row] += added;
          largest[row] = of_class[row] > largest[row] ? of_class[row] : largest[row];
        }
      }
    });
  }

  RowValues largest_logits(const Panel& panel) const {
    RowValues largest;
    std::copy_n(sums(panel, 0), panel.columns, largest.begin());
    for (std::int64_t index = 1; index < blocks_; ++index) {
      const float* const of_block = sums(panel, index);
      for (std::int64_t row = 0; row < panel.columns; ++row) {
        largest[row] = std::max(largest[row], of_block[row]);
      }
    }
    return largest;
  }

  // Writes exp(logit - the largest) over a block's logits and adds these up for each row; with
  // smoothing, the weighted logits less the largest, too.
  void write_exponentials(const Panel& panel, std::int64_t index, const RowValues& largest) const {
    const RowRange classes = block(index);
    float* const totals = sums(panel, index);
    float* const wanted = panel.floats(wanted_) + index * columns_;
    std::fill_n(totals, panel.columns, 0.0f);
    if (smooths()) std::fill_n(wanted, panel.columns, 0.0f);
    for (std::int64_t k = classes.first; k < classes.first + classes.count; ++k) {
      float* const values = logits(panel, k);
      for (std::int64_t row = 0; smooths() && row < panel.columns; ++row) {
        wanted[row] += panel.targets.weight(k) * (values[row] - largest[row]);
      }
#pragma omp simd
      for (std::int64_t row = 0; row < panel.columns; ++row) {
        values[row] = exponential(values[row] - largest[row]);
        totals[row] += values[row];
      }
    }
  }

  // Returns the sum of the rows' losses, and writes what makes gradients of exponentials.
  double add_up(const Panel& panel, float scale, Rows& all) const {
    double loss = 0;
    for (std::int64_t row = 0; row < panel.rows.count; ++row) {
      const CrossEntropyTarget target = panel.targets.of(panel.rows.first + row);
      const auto [total, wanted] = sums_of_row(panel, row);
      const double label = double{all.of_labels[row]} - double{all.largest[row]};
      loss += target.total * std::log(total) - target.of_label * label - target.of_each * wanted;
      all.factors[row] = target.total * scale / static_cast<float>(total);
    }
    return loss;
  }

  // Returns the sum of a row's exponentials and, with smoothing, of its weighted logits.
  std::pair<double, double> sums_of_row(const Panel& panel, std::int64_t row) const {
    std::pair<double, double> sum;
    for (std::int64_t index = 0; index < blocks_; ++index) {
      sum.first += sums(panel, index)[row];
      if (smooths()) sum.second += panel.floats(wanted_)[index * columns_ + row];
    }
    return sum;
  }

  // Writes the gradients of some classes' logits over their exponentials.
  void write_gradients(const Panel& panel, const RowRange& band, const RowValues& factors,
                       float scale) const {
    const float of_each = problem_.loss.smoothing / static_cast<float>(problem_.loss.classes);
    for (std::int64_t k = band.first; k < band.first + band.count; ++k) {
      float* const values = logits(panel, k);
      const float share = of_each * panel.targets.weight(k) * scale;
#pragma omp simd
      for (std::int64_t row = 0; row < panel.columns; ++row) {
        values[row] = values[row] * factors[row] - share;
      }
    }
    for (std::int64_t row = 0; row < panel.rows.count; ++row) {
      const std::int32_t label = panel.targets.label(panel.rows.first + row);
      if (label < band.first || label >= band.first + band.count) continue;
      logits(panel, label)[row] -= panel.targets.of(panel.rows.first + row).of_label * scale;
    }
  }

  void add_to_bias(const Panel& panel, const RowRange& band) const {
    auto* const sums = panel.arguments.output<float>(panel.arguments.outputs.size() - 1);
    for (std::int64_t k = band.first; k < band.first + band.count; ++k) {
      const float* const values = logits(panel, k);
      const float before = panel.rows.first > 0 ? sums[k] : 0;
      sums[k] = std::accumulate(values, values + panel.rows.count, before);
    }
  }

  void add_to_weight(const Panel& panel, const RowRange& band) const {
    auto* const grad_weight = panel.arguments.output<float>(problem_.grad_x ? 2 : 1);
    multiply_panels(features_, {.left = logits(panel, band.first),
                                .left_row = columns_,
                                .left_column = 1,
                                .right = panel.floats(packed_),
                                .result = grad_weight + band.first * features_,
                                .result_row = features_,
                                .rows = band.count,
                                .depth = panel.rows.count,
                                .adds = panel.rows.first > 0});
  }

  // Adds to grad_x what some classes do.
  void add_grad_x(const Panel& panel, const RowRange& classes) const {
    const std::int64_t in = features_;
    const PanelMatrix weight{.values = panel.arguments.input<float>(1) + classes.first * in,
                             .row = in,
                             .column = 1,
                             .rows = classes.count,
                             .columns = in};
    const bool parallel = columns_ * in >= kSerialArithmetic;
    float* const packed = panel.floats(packed_);
    for_each_index(classes.count, parallel, [&](std::int64_t k) { pack_row(weight, k, packed); });
    for_each_index(panel_count(in), parallel, [&](std::int64_t features) {
      multiply_panel(features, in,
                     {.left = logits(panel, classes.first),
                      .left_row = 1,
                      .left_column = columns_,
                      .right = packed,
                      .result = panel.arguments.output<float>(1) + panel.rows.first * in,
                      .result_row = in,
                      .rows = panel.rows.count,
                      .depth = classes.count,
                      .adds = classes.first > 0});
    });
  }

  LinearCrossEntropyProblem problem_;
  std::int64_t features_, columns_, blocks_;
  WorkspaceLayout workspace_;
  // In the workspace; packed are x by rows, then x by features, then blocks of the weight.
  std::size_t logits_ = 0, sums_ = 0, wanted_ = 0, packed_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_linear_cross_entropy_cpu(const LinearCrossEntropyProblem& problem) {
  return std::make_unique<LinearCrossEntropyCpu>(problem);
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

}  // namespace skyline
