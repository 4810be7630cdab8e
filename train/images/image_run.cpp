#include "train/images/image_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/images/image_evaluation.h"
#include "train/run/dry_run.h"
#include "train/run/random_bits.h"

namespace skyline {

ImageRun::ImageRun(const MemoryOptions& memory_options, const Context::Options& context_options,
                   ImageRunOptions options, const ImageData* data)
    : ModelRun(memory_options, context_options),
      model(find_model(options.model).make(context, options.shape)),
      options_(std::move(options)),
      data_(data) {
  own_optimizer(options_.optimizer);
}

void ImageRun::seek(const BatchPosition& position, std::uint64_t seed) {
  loader_.emplace(
      *data_->train,
      LoaderOptions{
          .batch_size = options_.batch_size, .threads = options_.decode_threads, .start = position},
      random_bits(seed));
}

double ImageRun::next() {
  loader_->next(batch_);
  return loader_->last_wait_seconds();
}

void ImageRun::take_empty_batch(std::int64_t size) {
  batch_ = {};
  batch_.size = static_cast<std::size_t>(size);
}

float ImageRun::step(const Batch& batch, const UpdateParams& params) {
  take(batch);
  return step(params);
}

Evaluation ImageRun::evaluate(std::int64_t, const EvaluationProgress& progress) {
  plan_evaluation();
  const Accuracy accuracy = skyline::evaluate(
      context, *model, *data_->test, evaluation_batch_size(), options_.decode_threads, progress);
  Evaluation evaluation{.metrics = {{"top1", accuracy.top1()}},
                        .text = fmt::format("test top-1 {:.2f} %", 100 * accuracy.top1()),
                        .sample = {}};
  if (data_->classes > kTopGuesses) {
    evaluation.metrics.emplace_back("top5", accuracy.top5());
    evaluation.text += fmt::format(", top-5 {:.2f} %", 100 * accuracy.top5());
  }
  evaluation.metrics.emplace_back("test_loss", accuracy.mean_loss());
  return evaluation;
}

std::size_t ImageRun::evaluation_batch_size() const {
  return std::min(options_.batch_size, data_->test->size());
}

// Plans from a dry run, so that even the first evaluation takes nothing from the device.
void ImageRun::plan_evaluation() {
  Session* session = memory.session();
  if (session == nullptr || std::exchange(evaluation_planned_, true)) return;
  const auto size = static_cast<std::int64_t>(evaluation_batch_size());
  DryRun dry(std::make_unique<ImageRun>(
      dry_memory(memory.guarded()), dry_context(context.options(), Mode::kInference), options_));
  session->adopt(dry.step(size, Mode::kInference).trace, inference_key(evaluation_batch_size()));
}

}  // namespace skyline
