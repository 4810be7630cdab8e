#include "train/images/image_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/host.h"
#include "memory/alignment.h"
#include "train/images/bad_images_report.h"
#include "train/images/idx_data.h"
#include "train/images/mean_file.h"
#include "train/images/trained_data.h"
#include "train/run/dry_run.h"
#include "train/run/random_bits.h"

namespace skyline {

ImageWorkload::ImageWorkload(const TrainOptions& options, Console& console)
    : Workload(options, console),
      data_(open_image_data(options.data, find_model(options.model).shape)),
      run_options_{.model = options.model,
                   .shape = data_.shape(),
                   .optimizer = optimizer_options(options),
                   .batch_size = static_cast<std::size_t>(options.batch_size),
                   .decode_threads = static_cast<std::size_t>(options.data.decode_threads)} {
  // Checks the batch size before a run folder is made.
  const Loader loader(*data_.train,
                      {.batch_size = run_options_.batch_size,
                       .prefetch = 0,
                       .step_batches = static_cast<std::size_t>(step_batches(options))},
                      random_bits(options.data.seed));
  batches_per_epoch_ = static_cast<std::int64_t>(loader.batches_per_epoch());
  for (const std::string& warning : data_.warnings) console.warn(warning);
  const bool has_budget = options.step.memory_bytes.has_value();
  if (options.memory.device == "cpu" && !has_budget) require_memory();
}

// A step that the machine cannot hold would be ended by the system without a word. Small batches
// need no dry run to know that they fit.
void ImageWorkload::require_memory() const {
  constexpr std::uint64_t kSmallBatch = std::uint64_t{64} << 20;  // bytes
  const LoaderOptions reading;
  const std::uint64_t batch_bytes =
      run_options_.batch_size * data_.train->image_shape().elements() * sizeof(float);
  if (batch_bytes <= kSmallBatch) return;
  const DryRunFacts step = dry_run(Mode::kTraining).step(options_.batch_size, Mode::kTraining);
  require_host_memory(data_name(),
                      fmt::format("training with batches of {} images", options_.batch_size),
                      step.resident_bytes + lower_bound_bytes(step.trace, kAlignmentBytes) +
                          (reading.prefetch + 1) * batch_bytes);
}

std::vector<ReportFact> ImageWorkload::facts(Mode mode) const {
  const ModelShape& shape = run_options_.shape;
  std::vector<ReportFact> facts = {
      {"images", fmt::format("{} × {} × {}", shape.channels, shape.height, shape.width)},
      {"classes", std::to_string(shape.classes)}};
  if (mode == Mode::kTraining && options_.optimizer == "sgd") {
    facts.push_back({"momentum", fmt::format("{}", options_.momentum)});
    facts.push_back({"weight decay", fmt::format("{}", options_.weight_decay)});
  }
  return facts;
}

std::unique_ptr<ModelRun> ImageWorkload::make_run(const MemoryOptions& memory, Mode mode) {
  auto run = std::make_unique<ImageRun>(memory, context(mode), run_options_, &data_);
  if (memory.policy == ShapePolicy::kUpperBound && run->memory.session() != nullptr) {
    run->memory.session()->adopt(longest_step(mode).trace,
                                 mode == Mode::kTraining ? training_key(run_options_.batch_size)
                                                         : inference_key(run_options_.batch_size));
  }
  return run;
}

DryRun ImageWorkload::dry_run(Mode mode) const {
  return DryRun(std::make_unique<ImageRun>(dry_memory(options_.memory.guard),
                                           dry_context(context(mode), mode), run_options_));
}

// All batches have one size.
DryRunFacts ImageWorkload::longest_step(Mode mode) {
  return dry_run(mode).step(options_.batch_size, mode, DryRun::Graph::kOn);
}

// An evaluation may come before the warm-up ends, in a resumed run for example.
std::optional<Workload::Needs> ImageWorkload::needs(Mode mode) {
  Needs needs{.longest = dry_run(mode).step(options_.batch_size, mode), .steps = {}, .beside = {}};
  needs.steps.push_back(needs.longest.trace);
  if (mode == Mode::kTraining) {
    const auto size =
        std::min<std::int64_t>(options_.batch_size, static_cast<std::int64_t>(data_.test->size()));
    needs.beside = dry_run(Mode::kInference).step(size, Mode::kInference).trace;
  }
  return needs;
}

StepTrial ImageWorkload::trial(const Savings& savings, bool other_engines) {
  const Mode mode = Mode::kTraining;
  if (!trial_) trial_.emplace(dry_run(mode));
  trial_->set_savings(savings);
  if (other_engines) trial_->forget_kernels();
  StepTrial trial{.facts = trial_->step(options_.batch_size, mode, DryRun::Graph::kOn)};
  trial.reserved_bytes = reserved_bytes(trial.facts, {&trial.facts.trace, 1});
  return trial;
}

void ImageWorkload::prepare() {
  say_normalisation();
  mean_ = compute_mean(data_, options_.data, console_);
  set_mean(data_, mean_);
}

void ImageWorkload::say_normalisation() {
  if (data_.train_idx == nullptr) return;
  console_.say(data_.description + "; " + normalisation_text(*data_.normalisation));
}

void ImageWorkload::save(const std::filesystem::path& folder, TrainingPosition& position) const {
  if (mean_ != nullptr) write_mean(folder, *mean_);
  store_data(data_, position);
}

void ImageWorkload::check_data(const TrainingPosition& position) const {
  skyline::check_data(data_, trained_data(position), DataMatch::kAll);
}

void ImageWorkload::resume(const std::filesystem::path& folder, const TrainingPosition& position) {
  const TrainedData trained = trained_data(position);
  if (data_.train_idx != nullptr && trained.normalisation) {
    set_normalisation(data_, *trained.normalisation);
  }
  say_normalisation();
  mean_ = read_mean(folder);
  if (mean_ != nullptr || data_.train_images == nullptr || options_.data.mean == "none") {
    return set_mean(data_, mean_);
  }
  console_.warn(
      fmt::format("{} is missing in {}: computing the mean again", kMeanFile, folder.string()));
  prepare();
  write_mean(folder, *mean_);
}

// Decoding threads must not use the console, so this thread reports what they found.
void ImageWorkload::report_problems() {
  if (data_.bad_images == nullptr) return;
  for (const BadImage& bad : data_.bad_images->take_new()) {
    console_.warn(fmt::format("skipped {}: {}", bad.path, bad.reason));
  }
}

void ImageWorkload::add_facts(nlohmann::ordered_json& json, std::string& text) {
  json["bad_images"] = to_json(data_.unreadable());
  text += bad_images_text(data_.unreadable());
}

}  // namespace skyline
