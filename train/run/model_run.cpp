#include "train/run/model_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "framework/interruption_scope.h"
#include "memory/alignment.h"
#include "memory/plan_advice.h"
#include "train/cli/byte_sizes.h"
#include "train/run/step_scope.h"

namespace skyline {

std::optional<double> BatchFacts::perplexity(double loss) const {
  if (words == 0) return {};
  return std::exp(loss * static_cast<double>(sentences) / static_cast<double>(words));
}

void ModelRun::own_optimizer(const OptimizerOptions& options) {
  if (context.training()) {
    optimizer_.emplace(context, network(), options, shares_.of_updates());
  }
  network_bytes_ = memory.statistics().allocated_bytes;
}

std::span<const Buffer> ModelRun::optimizer_state() const {
  return optimizer_ ? std::span<const Buffer>(optimizer_->state()) : std::span<const Buffer>();
}

std::span<const Parameter> ModelRun::updated_parameters() const {
  return optimizer_ ? optimizer_->parameters() : std::span<const Parameter>();
}

float ModelRun::train_step(const UpdateParams& params) {
  inference_loss_.reset();
  hits_ = {};
  const float loss =
      optimizer_ ? training_step(context, *optimizer_, params, *this, shares_) : inference_step();
  if (!plans_each_step()) memory.suit_advice();
  const std::uint64_t held_bytes = memory.calls().last_step().kept_bytes;
  if (held_bytes > 0 && !std::exchange(told_of_held_, true)) {
    news_ = fmt::format(
        "warning: the step ends with {} alive that no op will read: someone holds a tensor of the "
        "step, which keeps its bytes for the whole step",
        format_bytes(held_bytes));
  }
  return loss;
}

float ModelRun::inference_loss_step(ShapeKey key) {
  // In training mode, the staging memory of training steps is large enough.
  if (!context.training()) context.stage_uploads(input_bytes());
  const ModeScope mode(context, Mode::kInference);
  StepScope step(context, key);
  float loss = 0;
  context.download(loss_of(0).loss, &loss);
  step.end();
  return loss;
}

// The probabilities lie where the loss came from, and the host has waited for that: reading them
// asks for no memory of the device and enters no record of the step.
void ModelRun::count_hits(const Tensor& probabilities) {
  if (!probabilities || !context.executes()) return;
  const std::span<const std::int32_t> labels = this->labels();
  probabilities_.resize(static_cast<std::size_t>(probabilities.shape().elements()));
  context.compute().read(probabilities_.data(), probabilities.address(),
                         probabilities.spec().bytes());
  const std::size_t classes = probabilities_.size() / labels.size();
  std::size_t right = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto begin = probabilities_.begin() + static_cast<std::ptrdiff_t>(row * classes);
    const auto largest = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes));
    right += largest - begin == labels[row] ? 1 : 0;
  }
  for (const float of_rank : shares_.from_all_ranks(static_cast<float>(right))) {
    hits_ += {.right = static_cast<std::uint64_t>(of_rank), .images = labels.size()};
  }
}

void ModelRun::examine(std::size_t batch, const Tensor& probabilities) {
  count_hits(probabilities);
  if (!measures_inference_loss_) return;
  float value = 0;
  {
    const InterruptionScope interruption(context);
    context.download(loss_of(batch).loss, &value);
  }
  const double before = batch > 0 ? inference_loss_.value_or(0) : 0;
  inference_loss_ = before + value / static_cast<double>(step_batches());
}

std::optional<std::string> ModelRun::take_news() {
  if (news_) return std::exchange(news_, {});
  PlanAdvice* const advice = context.compute().runner().advice();
  return advice == nullptr ? std::nullopt : advice->take_news();
}

Tensor upload_words(Context& context, std::span<const std::int32_t> words, std::string_view name) {
  return context.upload({{std::ssize(words)}, DType::kInt32}, words.data(), name);
}

std::size_t word_bytes(std::size_t words) {
  return align_up(words * sizeof(std::int32_t), kAlignmentBytes);
}

}  // namespace skyline
