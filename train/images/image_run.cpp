#include "train/images/image_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/philox.h"
#include "train/decide/engines.h"
#include "train/options/step_options.h"
#include "train/run/dry_run.h"

namespace skyline {
namespace {

// A dry run of the step that decides about engines, whatever the run's options are.
DryRunFacts deciding_step(std::shared_ptr<Compute> compute, ImageRunOptions options, Mode mode,
                          const StepOptions& how, std::int64_t batch_size) {
  options.shares = {};
  Context::Options context = context_options(how);
  context.compute = std::move(compute);
  return DryRun(std::make_unique<ImageRun>(dry_memory(), dry_context(context, mode), options))
      .foresee(batch_size, mode, DryRun::Graph::kOn);
}

std::set<std::string> above_peak(const CpuOptions& cpu, const ImageRunOptions& options,
                                 std::int64_t batch_size) {
  const auto step = [&](Mode mode, CpuOptions::Engines engines, std::string_view order) {
    return deciding_step(
        std::make_shared<CpuCompute>(CpuOptions{.engines = engines, .choices = cpu.choices}),
        options, mode, {.order = std::string(order)}, batch_size);
  };
  std::set<std::string> problems;
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    const DryRunFacts by_rule = step(mode, CpuOptions::Engines::kByShape, kProgramOrder);
    if (by_rule.step.engines.empty()) continue;
    problems.merge(
        engines_above_peak(step(mode, CpuOptions::Engines::kDirect, kDefaultOrder), by_rule));
  }
  return problems;
}

// Given choices stay. Engines come first: orders of steps depend on their workspaces.
void limit_workspaces(Compute& compute, EngineChoices& choices, const ImageRunOptions& options,
                      std::int64_t batch_size) {
  const auto given = choices.by_problem;
  const std::shared_ptr<Compute> not_owned(std::shared_ptr<Compute>(), &compute);
  const auto limits = [&](Mode mode, const StepOptions& how, bool wants_room) {
    auto found = workspaces_within_peak(deciding_step(not_owned, options, mode, how, batch_size),
                                        wants_room);
    std::erase_if(found, [&](const auto& limit) { return given.contains(limit.first); });
    return found;
  };
  for (const auto& [problem, bytes] : limits(Mode::kTraining, {}, false)) {
    choices.most_workspace_bytes[problem] = bytes;
    choices.by_problem.erase(problem);
  }
  auto rooms = limits(Mode::kTraining, {}, true);
  const StepOptions frugal{.recompute = 4, .fused_update = true};
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    if (rooms.empty()) return;
    for (const auto& [problem, bytes] : limits(mode, frugal, true)) {
      std::size_t& room = rooms.try_emplace(problem, bytes).first->second;
      room = std::min(room, bytes);
    }
  }
  choices.most_workspace_bytes.merge(rooms);
}

}  // namespace

void choose_engines(Context& context, ImageRunOptions options, std::size_t batch_size) {
  Compute& compute = context.compute();
  const CpuOptions cpu = compute.cpu();
  const bool by_shape = cpu.engines == CpuOptions::Engines::kByShape;
  EngineChoices* const on_card = heuristic_choices(compute);
  EngineChoices* const choices = on_card != nullptr ? on_card : by_shape ? cpu.choices : nullptr;
  if (choices == nullptr) return;
  const auto size = static_cast<std::int64_t>(batch_size);
  // The dry runs below find the entry, and make kernels by the rule alone.
  const auto [chosen, is_new] = choices->above_peak.try_emplace(size);
  if (!is_new) return;
  if (on_card != nullptr) {
    limit_workspaces(compute, *on_card, options, size);
  } else {
    chosen->second = above_peak(cpu, options, size);
  }
  context.kernels().forget();  // an inference may have run before
}

ImageRun::ImageRun(const MemoryOptions& memory_options, const Context::Options& context_options,
                   ImageRunOptions options, const ImageData* data)
    : ModelRun(memory_options, context_options, options.shares, options.watch),
      model(find_model(options.model).make(context, options.shape)),
      options_(std::move(options)),
      data_(data) {
  judged_ = {.smoothing = options_.label_smoothing, .input_gradient = options_.input_gradient};
  const std::vector<float>& weights = options_.class_weights;
  if (context.training() && !weights.empty()) {
    judged_.class_weights =
        context.resident({{std::ssize(weights)}}, Category::kState, "loss", weights.data());
  }
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
                                .step_batches = context.training() ? shares().batches() : 1,
                                .share = shares().of_data()},
                  Philox{seed_});
}

double ImageRun::next() {
  if (!loader_) open_loader();  // a signal stopped the evaluation
  read_next();
  number_ = 0;
  return std::exchange(waited_seconds_, 0);
}

void ImageRun::read_next() {
  loader_->next(batch_);
  next_ = shares().of_data().after(batch_.position, loader_->batches_per_epoch());
  waited_seconds_ += loader_->last_wait_seconds();
  choose_engines(context, options_, batch_.size);
}

// A step whose loss was not finite is run again, but its batch has been given back.
void ImageRun::read_again() {
  if (!loader_ || !batch_.images.empty()) return;
  Loader(*data_->train,
         {.batch_size = options_.batch_size,
          .prefetch = 0,
          .start = batch_.position,
          .share = shares().of_data()},
         Philox{seed_})
      .next(batch_);
}

// Batches that came by take() stay.
AfterUpload ImageRun::give_back() {
  if (!loader_) return {};
  return [this] { loader_->give_back(batch_); };
}

CrossEntropy ImageRun::loss_of(std::size_t batch) {
  for (; loader_ && number_ < batch; ++number_) read_next();
  read_again();
  labels_ = batch_.labels;
  return skyline::forward_loss(context, *model, batch_, give_back(), judged_);
}

float ImageRun::inference_step() {
  read_again();
  return skyline::inference_step(context, *model, batch_, give_back()).loss;
}

std::uint64_t ImageRun::host_bytes() const {
  return batch_.images.capacity() * sizeof(float) + (loader_ ? loader_->held_bytes() : 0);
}

void ImageRun::take(Batch batch) {
  batch_ = std::move(batch);
  choose_engines(context, options_, batch_.size);
}

void ImageRun::take_empty_batch(std::int64_t size) {
  Batch batch;
  batch.size = static_cast<std::size_t>(size);
  take(std::move(batch));
}

float ImageRun::train_step(const Batch& batch, const UpdateParams& params) {
  take(batch);
  return train_step(params);
}

Evaluation ImageRun::evaluate(std::int64_t, const EvaluationProgress& progress) {
  choose_engines(context, options_, evaluation_batch_size());
  plan_evaluation();
  const bool loads = loader_.has_value();
  loader_.reset();  // its batches' memory serves the evaluation
  const Accuracy accuracy =
      skyline::evaluate(context, *model, *data_->test,
                        {evaluation_batch_size(), options_.decode_threads, shares()}, progress);
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
  session->adopt(dry.foresee(size, Mode::kInference).trace, inference_key(evaluation_batch_size()));
}

}  // namespace skyline
