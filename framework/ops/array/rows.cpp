#include "framework/ops/array/rows.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

std::vector<RowRange> consecutive(const std::vector<std::int64_t>& counts) {
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

std::string parameters_of(const std::vector<RowRange>& ranges) {
  std::string text = "rows=";
  for (const RowRange& range : ranges) text += fmt::format("{}+{} ", range.first, range.count);
  text.pop_back();
  return text;
}

// Inputs: one tensor a range; output: all rows, zeros outside the ranges. Computes the gradient of
// taking rows and, if the ranges leave no gap, concat_rows.
class PlaceRows : public Op {
 public:
  PlaceRows(std::string_view name, Category category, std::vector<RowRange> ranges,
            std::int64_t total)
      : name_(name), category_(category), ranges_(std::move(ranges)), total_(total) {}
  std::string_view name() const override { return name_; }
  std::string parameters() const override {
    return fmt::format("{} of {}", parameters_of(ranges_), total_);
  }
  bool cacheable() const override { return false; }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
    require_inputs(name_, inputs.size(), ranges_.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string what = fmt::format("input {}", i);
      require_float(name_, what, inputs[i], 2);
      require_spec(name_, what, inputs[i], {{ranges_[i].count, inputs[0].shape[1]}});
    }
    return {{{{total_, inputs[0].shape[1]}}, category_}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    const std::int64_t width = inputs[0].shape[1];
    return compute.cuda() ? make_place_rows_cuda(*compute.cuda(), ranges_, total_, width)
                          : make_place_rows_cpu(ranges_, total_, width);
  }

  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const override;

 private:
  std::string name_;
  Category category_;
  std::vector<RowRange> ranges_;
  std::int64_t total_;
};

// Output j is rows ranges[j] of the input.
class TakeRows : public Op {
 public:
  TakeRows(std::string_view name, Category category, std::vector<RowRange> ranges)
      : name_(name), category_(category), ranges_(std::move(ranges)) {}
  std::string_view name() const override { return name_; }
  std::string parameters() const override { return parameters_of(ranges_); }
  bool cacheable() const override { return false; }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
    require_inputs(name_, inputs.size(), 1);
    std::vector<OutputSpec> outputs;
    for (const RowRange& range : ranges_) {
      outputs.push_back({{{range.count, inputs[0].shape[1]}}, category_});
    }
    return outputs;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    const std::int64_t width = inputs[0].shape[1];
    return compute.cuda() ? make_take_rows_cuda(*compute.cuda(), ranges_, width)
                          : make_take_rows_cpu(ranges_, width);
  }

  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>&) const override {
    GradientCall call{.op = std::make_shared<PlaceRows>(name_ + "_grad", Category::kGradient,
                                                        ranges_, inputs[0].shape[0]),
                      .gradient_of = {0}};
    for (int j = 0; j < static_cast<int>(ranges_.size()); ++j) {
      call.sources.push_back(GradientSource::grad_output(j));
    }
    return {std::move(call)};
  }

 private:
  std::string name_;
  Category category_;
  std::vector<RowRange> ranges_;
};

std::vector<GradientCall> PlaceRows::gradient(Specs, const std::vector<bool>& needed) const {
  std::vector<RowRange> wanted;
  GradientCall call{.sources = {GradientSource::grad_output(0)}};
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    wanted.push_back(ranges_[i]);
    call.gradient_of.push_back(static_cast<int>(i));
  }
  call.op = std::make_shared<TakeRows>(name_ + "_grad", Category::kGradient, std::move(wanted));
  return {std::move(call)};
}

class PermuteRows : public Op {
 public:
  PermuteRows(std::vector<std::int32_t> rows, Category category)
      : rows_(std::move(rows)), category_(category) {}
  std::string_view name() const override {
    return category_ == Category::kGradient ? "permute_rows_grad" : "permute_rows";
  }
  bool cacheable() const override { return false; }
  RunValue run_value() const override { return RunValue(rows_); }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
    require_inputs("permute_rows", inputs.size(), 1);
    return {{inputs[0], category_}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    const KernelMakers<std::int64_t> kernels(make_permute_rows_cpu, make_permute_rows_cuda);
    return kernels.make(compute, inputs[0].shape[1]);
  }

  std::vector<GradientCall> gradient(Specs, const std::vector<bool>&) const override {
    std::vector<std::int32_t> inverse(rows_.size());
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      inverse[static_cast<std::size_t>(rows_[k])] = static_cast<std::int32_t>(k);
    }
    return {{.op = std::make_shared<PermuteRows>(std::move(inverse), Category::kGradient),
             .sources = {GradientSource::grad_output(0)},
             .gradient_of = {0}}};
  }

 private:
  std::vector<std::int32_t> rows_;
  Category category_;
};

void require_permutation(const std::vector<std::int32_t>& rows, std::int64_t expected) {
  require_extent("permute_rows", "number of rows", static_cast<std::int64_t>(rows.size()),
                 expected);
  std::vector<bool> taken(rows.size(), false);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    if (rows[k] < 0 || row >= rows.size() || taken[row]) {
      throw ShapeError("permute_rows", fmt::format("row {}", k), std::to_string(rows[k]),
                       fmt::format("each of 0 to {} once", expected - 1));
    }
    taken[row] = true;
  }
}

}  // namespace

std::vector<Tensor> split_rows(Context& context, Tensor x,
                               const std::vector<std::int64_t>& counts) {
  require_float("split_rows", "x", x.spec(), 2);
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    if (count < 1) throw ShapeError("split_rows", "count", std::to_string(count), "at least 1");
    total += count;
  }
  require_extent("split_rows", "sum of the counts", total, x.shape()[0]);
  return apply(context,
               std::make_shared<TakeRows>("split_rows", Category::kActivation, consecutive(counts)),
               operands(std::move(x)));
}

Tensor slice_rows(Context& context, Tensor x, std::int64_t first, std::int64_t count) {
  require_float("slice_rows", "x", x.spec(), 2);
  if (first < 0 || count < 1 || count > x.shape()[0] - first) {
    throw ShapeError("slice_rows", "rows", fmt::format("{} to {}", first, first + count - 1),
                     fmt::format("at least one of 0 to {}", x.shape()[0] - 1));
  }
  return apply(context,
               std::make_shared<TakeRows>("slice_rows", Category::kActivation,
                                          std::vector<RowRange>{{first, count}}),
               operands(std::move(x)))
      .front();
}

Tensor concat_rows(Context& context, std::vector<Tensor> xs) {
  if (xs.empty()) throw ShapeError("concat_rows", "number of inputs", "0", "at least 1");
  std::vector<std::int64_t> counts;
  std::int64_t total = 0;
  for (const Tensor& x : xs) {
    counts.push_back(x.shape().rank() > 0 ? x.shape()[0] : 1);
    total += counts.back();
  }
  return apply(context,
               std::make_shared<PlaceRows>("concat_rows", Category::kActivation,
                                           consecutive(counts), total),
               std::move(xs))
      .front();
}

Tensor permute_rows(Context& context, Tensor x, std::vector<std::int32_t> rows) {
  require_float("permute_rows", "x", x.spec(), 2);
  require_permutation(rows, x.shape()[0]);
  return apply(context, std::make_shared<PermuteRows>(std::move(rows), Category::kActivation),
               operands(std::move(x)))
      .front();
}

}  // namespace skyline
