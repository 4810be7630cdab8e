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
  next_ = position;
  seed_ = seed;
  open_loader();
}

void ImageRun::open_loader() {
  loader_.emplace(*data_->train,
                  LoaderOptions{.batch_size = options_.batch_size,
                                .threads = options_.decode_threads,
                                .start = next_,
                                .step_batches = step_batches() * share().ranks,
                                .share = share()},
                  random_bits(seed_));
}

double ImageRun::next() {
  if (!loader_) open_loader();  // a signal stopped the evaluation
  read_next();
  number_ = 0;
  return std::exchange(waited_seconds_, 0);
}

void ImageRun::read_next() {
  loader_->next(batch_);
  next_ = within_epoch({batch_.position.epoch, batch_.position.batch + share().ranks},
                       loader_->batches_per_epoch());
  waited_seconds_ += loader_->last_wait_seconds();
}

// A step whose loss was not finite is run again, but its batch has been given back.
void ImageRun::read_again() {
  if (!loader_ || !batch_.images.empty()) return;
  Loader(*data_->train,
         {.batch_size = options_.batch_size,
          .prefetch = 0,
          .start = batch_.position,
          .share = share()},
         random_bits(seed_))
      .next(batch_);
}

// Batches that came by take() stay.
AfterUpload ImageRun::give_back() {
  if (!loader_) return {};
  return [this] { loader_->give_back(batch_); };
}

Tensor ImageRun::forward_loss(std::size_t batch) {
  for (; loader_ && number_ < batch; ++number_) read_next();
  read_again();
  return skyline::forward_loss(context, *model, batch_, give_back());
}

float ImageRun::inference_step() {
  read_again();
  return skyline::inference_step(context, *model, batch_, give_back()).loss;
}

std::uint64_t ImageRun::host_bytes() const {
  return batch_.images.capacity() * sizeof(float) + (loader_ ? loader_->held_bytes() : 0);
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
  const bool loads = loader_.has_value();
  loader_.reset();  // its batches' memory serves the evaluation
  const Accuracy accuracy = skyline::evaluate(
      context, *model, *data_->test, {evaluation_batch_size(), options_.decode_threads}, progress);
  if (loads) open_loader();
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
