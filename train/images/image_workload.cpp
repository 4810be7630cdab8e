#include "train/images/image_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/images/bad_images_report.h"
#include "train/images/image_evaluation.h"
#include "train/images/mean_file.h"
#include "train/run/divergence.h"

namespace skyline {

ImageTask::ImageTask(const TrainOptions& options, SessionListener listener, Console& console)
    : options_(options),
      console_(console),
      entry_(find_model(options.model)),
      data_(open_training_data(options.data, entry_.shape)),
      experiment_(with_listener(options.memory, std::move(listener)), context_options(options),
                  entry_, data_.shape()) {
  // The loader's own check, made before a run folder stands there.
  LoaderOptions loader = loader_options();
  loader.prefetch = 0;
  batches_per_epoch_ = static_cast<std::int64_t>(
      Loader(*data_.train, loader, random_bits(options.data.seed)).batches_per_epoch());
  for (const std::string& warning : data_.warnings) console_.warn(warning);
}

LoaderOptions ImageTask::loader_options() const {
  return {.batch_size = static_cast<std::size_t>(options_.batch_size),
          .threads = static_cast<std::size_t>(options_.data.decode_threads)};
}

DryRunOptions ImageTask::dry_run_options(Mode mode, std::size_t batch_size) const {
  return {.model = options_.model,
          .shape = data_.shape(),
          .batch_size = static_cast<std::int64_t>(batch_size),
          .mode = mode,
          .in_place = options_.in_place,
          .recompute = static_cast<int>(options_.recompute),
          .fused_update = options_.fused_update,
          .guard = options_.memory.guard,
          .compute = make_compute(options_.memory.device, options_.device)};
}

void ImageTask::start(const std::filesystem::path& folder, TrainingPosition& position) {
  const auto mean = compute_mean(data_, options_.data, console_);
  set_mean(data_, mean);
  if (mean != nullptr) write_mean(folder, *mean);
  (*position.more)["classes"] = data_.test->class_names();
}

void ImageTask::resume(const std::filesystem::path& folder, const TrainingPosition&) {
  std::shared_ptr<const MeanImage> mean = read_mean(folder);
  if (mean == nullptr && data_.train_images != nullptr && options_.data.mean != "none") {
    console_.warn(
        fmt::format("{} is missing in {}: taking the mean again", kMeanFile, folder.string()));
    mean = compute_mean(data_, options_.data, console_);
    write_mean(folder, *mean);
  }
  set_mean(data_, mean);
}

void ImageTask::seek(const TrainingPosition& position) {
  LoaderOptions loader = loader_options();
  loader.start = {.epoch = static_cast<std::uint64_t>(position.epoch),
                  .batch = static_cast<std::uint64_t>(position.batch)};
  loader_.emplace(*data_.train, loader, random_bits(position.order_seed));
}

Task::Step ImageTask::step(std::int64_t number, double learning_rate) {
  loader_->next(batch_);
  Step step{.loss = 0, .wait_seconds = loader_->last_wait_seconds(), .lengths = {}};
  const RandomStream random = experiment_.context.random();
  try {
    step.loss =
        experiment_.step(batch_, {.learning_rate = static_cast<float>(learning_rate),
                                  .momentum = static_cast<float>(options_.momentum),
                                  .weight_decay = static_cast<float>(options_.weight_decay)});
  } catch (const LossNotFinite& error) {
    throw explain_divergence(
        experiment_.context, *experiment_.model,
        [this] { forward_loss(experiment_.context, *experiment_.model, batch_); }, random, number,
        error.loss());
  }
  return step;
}

Task::Evaluation ImageTask::evaluate(std::int64_t) {
  plan_evaluation();
  const Accuracy accuracy = skyline::evaluate(experiment_.context, *experiment_.model, *data_.test,
                                              evaluation_batch_size(), loader_options().threads);
  Evaluation evaluation{.metrics = {{"top1", accuracy.top1()}},
                        .text = fmt::format("test top-1 {:.2f} %", 100 * accuracy.top1()),
                        .sample = {}};
  if (data_.classes > kTopGuesses) {
    evaluation.metrics.emplace_back("top5", accuracy.top5());
    evaluation.text += fmt::format(", top-5 {:.2f} %", 100 * accuracy.top5());
  }
  return evaluation;
}

// An evaluation has a shape of its own. Its plan comes from a dry run, so that even the first one
// takes nothing from the device.
void ImageTask::plan_evaluation() {
  Session* session = experiment_.memory.session();
  if (session == nullptr || options_.memory.policy != ShapePolicy::kPerShape) return;
  if (std::exchange(evaluation_planned_, true)) return;
  const std::size_t size = evaluation_batch_size();
  session->adopt(dry_run(dry_run_options(Mode::kInference, size)).trace, inference_key(size));
}

std::size_t ImageTask::evaluation_batch_size() const {
  return std::min(static_cast<std::size_t>(options_.batch_size), data_.test->size());
}

std::vector<Trace> ImageTask::longest_steps() const {
  return {dry_run(dry_run_options(Mode::kTraining, loader_options().batch_size)).trace};
}

ShapeKey ImageTask::longest_key() const { return training_key(loader_options().batch_size); }

bool ImageTask::is_evaluation(ShapeKey key) const {
  return key == inference_key(evaluation_batch_size());
}

// On the trainer's thread: the console is not for those that decode.
void ImageTask::report_problems(Console& console) {
  if (data_.bad_images == nullptr) return;
  for (const BadImage& bad : data_.bad_images->take_new()) {
    console.warn(fmt::format("skipped {}: {}", bad.path, bad.reason));
  }
}

void ImageTask::add_facts(nlohmann::ordered_json& json, std::string& text) const {
  json["bad_images"] = to_json(data_.unreadable());
  text += bad_images_text(data_.unreadable());
}

}  // namespace skyline
