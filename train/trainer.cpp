#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "train/bad_images_report.h"
#include "train/divergence.h"
#include "train/dry_run.h"
#include "train/learning_rate.h"
#include "train/mean_file.h"
#include "train/median.h"
#include "train/run_summary.h"
#include "train/sizes.h"
#include "train/training_state.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

MemoryOptions with_listener(MemoryOptions memory, SessionListener listener) {
  memory.listener = std::move(listener);
  return memory;
}

DryRunOptions dry_run_options(const TrainOptions& options, const ModelShape& shape, Mode mode) {
  return {.model = options.model,
          .shape = shape,
          .batch_size = options.batch_size,
          .mode = mode,
          .in_place = options.in_place,
          .guard = options.memory.guard};
}

}  // namespace

Trainer::Trainer(TrainOptions options, Console& console)
    : options_(std::move(options)),
      console_(console),
      entry_(find_model(options_.model)),
      data_(open_training_data(options_.data, entry_.shape)),
      experiment_(std::make_unique<Experiment>(
          with_listener(options_.memory,
                        [this](const SessionEvent& event) { on_session_event(event); }),
          context_options(options_), entry_, data_.shape())) {
  // The loader's own check, made before a run folder stands there.
  const Loader loader(*data_.train,
                      {.batch_size = static_cast<std::size_t>(options_.batch_size), .prefetch = 0},
                      random_bits(options_.data.seed));
  batches_per_epoch_ = static_cast<std::int64_t>(loader.batches_per_epoch());
  for (const std::string& warning : data_.warnings) console_.warn(warning);
  total_steps_ = options_.steps.value_or(options_.epochs * batches_per_epoch_);
  if (options_.memory.policy == ShapePolicy::kUpperBound && experiment_->memory.session()) {
    const DryRunFacts facts = dry_run(dry_run_options(options_, data_.shape(), Mode::kTraining));
    experiment_->memory.session()->adopt(
        facts.trace, training_key(static_cast<std::size_t>(options_.batch_size)));
  }
}

Trainer::~Trainer() = default;

void Trainer::start(const std::optional<std::filesystem::path>& out) {
  const auto mean = compute_mean(data_, options_.data, console_);
  set_mean(data_, mean);
  directory_ = RunDirectory::create(out, options_.model);
  checkpoints_.emplace(directory_->checkpoints());
  directory_->write_arguments(to_json(options_));
  if (mean != nullptr) write_mean(directory_->path(), *mean);
  position_.order_seed = options_.data.seed;
  position_.arguments = to_json(options_);
  position_.more["classes"] = data_.test->class_names();
}

void Trainer::resume(const LoadedCheckpoint& loaded) {
  for (const std::string& warning : loaded.warnings) console_.warn(warning);
  restore(*experiment_, loaded.checkpoint);
  position_ = loaded.checkpoint.position;
  position_.arguments = to_json(options_);
  const std::filesystem::path folder = run_folder_of(loaded);
  restore_mean(folder);
  directory_ = RunDirectory::resume(folder, position_.step, position_.epoch);
  checkpoints_.emplace(directory_->checkpoints());
  saved_step_ = position_.step;
  if (position_.more.contains("last_top1")) top1_ = position_.more["last_top1"].get<double>();
  if (position_.more.contains("last_top5")) top5_ = position_.more["last_top5"].get<double>();
  console_.say(fmt::format("resuming {} after step {}", folder.string(), position_.step));
}

void Trainer::restore_mean(const std::filesystem::path& folder) {
  std::shared_ptr<const MeanImage> mean = read_mean(folder);
  if (mean == nullptr && data_.train_images != nullptr && options_.data.mean != "none") {
    console_.warn(
        fmt::format("{} is missing in {}: taking the mean again", kMeanFile, folder.string()));
    mean = compute_mean(data_, options_.data, console_);
    write_mean(folder, *mean);
  }
  set_mean(data_, mean);
}

CommandResult Trainer::run() {
  const double started = now_seconds();
  Interrupt interrupt;
  Loader loader(*data_.train,
                {.batch_size = static_cast<std::size_t>(options_.batch_size),
                 .threads = static_cast<std::size_t>(options_.data.decode_threads),
                 .start = {.epoch = static_cast<std::uint64_t>(position_.epoch),
                           .batch = static_cast<std::uint64_t>(position_.batch)}},
                random_bits(position_.order_seed));
  progress_.emplace(console_, total_steps_, static_cast<double>(options_.batch_size), "images",
                    position_.step);
  Batch batch;
  while (!done() && !interrupt.requested()) {
    loader.next(batch);
    note_wait(loader.last_wait_seconds());
    after_step(one_step(batch));
    name_bad_images();
  }
  if (done() && position_.batch != 0) evaluate_now();
  name_bad_images();
  if (saved_step_ != position_.step) save();
  progress_.reset();
  seconds_ = now_seconds() - started;
  return finish(done() ? 0 : interrupt.exit_code());
}

void Trainer::note_wait(double seconds) {
  wait_.last_seconds = seconds;
  if (steps_run_ == 0) {
    wait_.first_seconds = seconds;
  } else {
    wait_.later_seconds += seconds;
  }
}

// On this thread: the console is not for those that decode.
void Trainer::name_bad_images() {
  if (data_.bad_images == nullptr) return;
  for (const BadImage& bad : data_.bad_images->take_new()) {
    console_.warn(fmt::format("skipped {}: {}", bad.path, bad.reason));
  }
}

Trainer::Step Trainer::one_step(const Batch& batch) {
  const double started = now_seconds();
  const RandomStream random = experiment_->context.random();
  const LearningRate rate{options_.learning_rate, options_.schedule, total_steps_};
  Step step{.learning_rate = rate.at(position_.step)};
  const SgdParams params{.learning_rate = static_cast<float>(step.learning_rate),
                         .momentum = static_cast<float>(options_.momentum),
                         .weight_decay = static_cast<float>(options_.weight_decay)};
  try {
    step.loss = experiment_->step(batch, params);
  } catch (const LossNotFinite& error) {
    throw explain_divergence(experiment_->context, *experiment_->model, batch, random,
                             position_.step + 1, error.loss());
  }
  step.seconds = now_seconds() - started;
  const Session* session = experiment_->memory.session();
  step.planned = session != nullptr && session->state() == Session::State::kPlanned;
  return step;
}

void Trainer::after_step(const Step& step) {
  ++position_.step;
  ++position_.batch;
  ++steps_run_;
  position_.more["loss_sum"] = position_.more.value("loss_sum", 0.0) + step.loss;
  losses_.push_back(step.loss);
  if (steps_run_ == options_.memory.warmup_steps) {
    device_allocations_at_switch_ = experiment_->memory.statistics().device_allocations;
  }
  if (steps_run_ > options_.memory.warmup_steps) step_seconds_.push_back(step.seconds);
  directory_->log_step({{"step", position_.step},
                        {"epoch", position_.epoch + 1},
                        {"loss", step.loss},
                        {"learning_rate", step.learning_rate},
                        {"seconds", step.seconds},
                        {"data_wait", wait_.last_seconds},
                        {"planned", step.planned},
                        {"reserved", experiment_->memory.device().statistics().reserved_bytes}});
  const bool planned_by_session = experiment_->memory.session() != nullptr;
  progress_->step_done(position_.step, position_.epoch + 1,
                       (total_steps_ + batches_per_epoch_ - 1) / batches_per_epoch_, step.loss,
                       !planned_by_session ? ""
                       : step.planned      ? "planned"
                                           : "warm-up");
  if (position_.batch == batches_per_epoch_) {
    finish_epoch();
  } else if (options_.checkpoint_every > 0 && position_.step % options_.checkpoint_every == 0) {
    save();
  }
}

double Trainer::mean_loss() const {
  return position_.more.value("loss_sum", 0.0) /
         static_cast<double>(std::max<std::int64_t>(position_.batch, 1));
}

void Trainer::finish_epoch() {
  evaluate_now();
  const double loss = mean_loss();
  directory_->log_epoch({{"epoch", position_.epoch + 1},
                         {"steps", position_.step},
                         {"loss", loss},
                         {"top1", *top1_},
                         {"top5", top5_ ? Json(*top5_) : Json(nullptr)},
                         {"reserved", experiment_->memory.device().statistics().reserved_bytes}});
  console_.say(fmt::format("epoch {}: loss {:.4f}{}", position_.epoch + 1, loss, accuracy_text()));
  position_.more["last_loss"] = loss;
  position_.more["loss_sum"] = 0.0;
  ++position_.epoch;
  position_.batch = 0;
  save();
}

void Trainer::evaluate_now() {
  if (steps_run_ > 0) {
    memory_ = memory_facts(*experiment_, options_.memory.allocator, device_allocations_at_switch_);
    const Session* session = experiment_->memory.session();
    if (session != nullptr && session->state() == Session::State::kPlanned) {
      trace_ = session->trace();
      plan_ = session->plan();
    }
  }
  plan_evaluation();
  const Accuracy accuracy =
      evaluate(experiment_->context, *experiment_->model, *data_.test, evaluation_batch_size(),
               static_cast<std::size_t>(options_.data.decode_threads));
  top1_ = accuracy.top1();
  position_.more["last_top1"] = *top1_;
  if (data_.classes > kTopGuesses) {
    top5_ = accuracy.top5();
    position_.more["last_top5"] = *top5_;
  }
  position_.best["top1"] = std::max(position_.best["top1"], *top1_);
}

// ", test top-1 40.00 %, top-5 90.00 %", or nothing before the first evaluation.
std::string Trainer::accuracy_text() const {
  std::string text;
  if (top1_) text += fmt::format(", test top-1 {:.2f} %", 100 * *top1_);
  if (top5_) text += fmt::format(", top-5 {:.2f} %", 100 * *top5_);
  return text;
}

// An evaluation has a shape of its own. Its plan comes from a dry run, so that even the first one
// takes nothing from the device.
void Trainer::plan_evaluation() {
  Session* session = experiment_->memory.session();
  if (session == nullptr || options_.memory.policy != ShapePolicy::kPerShape) return;
  if (std::exchange(evaluation_planned_, true)) return;
  DryRunOptions options = dry_run_options(options_, data_.shape(), Mode::kInference);
  options.batch_size = static_cast<std::int64_t>(evaluation_batch_size());
  session->adopt(dry_run(options).trace, inference_key(evaluation_batch_size()));
}

std::size_t Trainer::evaluation_batch_size() const {
  return std::min(static_cast<std::size_t>(options_.batch_size), data_.test->size());
}

void Trainer::save() {
  checkpoints_->save(capture(*experiment_, position_));
  saved_step_ = position_.step;
}

// Told between steps; the session counts evaluation steps too, so the number is the trainer's.
void Trainer::on_session_event(const SessionEvent& event) {
  using Kind = SessionEvent::Kind;
  const std::int64_t next_step = position_.step + 1;
  if (event.kind == Kind::kDeviated) {
    console_.warn(
        fmt::format("a step before step {} left its plan ({}, {} requests) and was served "
                    "safely",
                    next_step, deviation_name(event.deviation->kind), event.deviation->count));
    return;
  }
  if (event.kind == Kind::kReplanFailed) {
    console_.warn("the device cannot hold the new plan, so all stays as it was: " + event.problem);
    return;
  }
  const bool of_evaluation = event.shape_key == inference_key(evaluation_batch_size());
  const std::string_view what = of_evaluation                   ? "planned the evaluation"
                                : event.kind == Kind::kSwitched ? "switched to the plan"
                                                                : "planned anew";
  console_.say(fmt::format(
      "{} before step {}: {} requests in {} (lower bound {}, gap {:.2f} %{}), planned in {:.2f} "
      "ms; "
      "reserved {} before, {} after: {}",
      what, next_step, event.blocks, format_bytes(event.peak), format_bytes(event.lower_bound),
      100 * event.gap, event.proved_optimal ? ", proved optimal" : "", 1e3 * event.planning_seconds,
      format_bytes(event.reserved_bytes_before), format_bytes(event.reserved_bytes_after),
      saving_sentence(event.reserved_bytes_before, event.reserved_bytes_after)));
}

CommandResult Trainer::finish(int exit_code) {
  if (!memory_) {
    memory_ = memory_facts(*experiment_, options_.memory.allocator, device_allocations_at_switch_);
  }
  update_totals(*memory_, *experiment_, device_allocations_at_switch_);
  if (trace_.size() == 0) {
    trace_ = dry_run(dry_run_options(options_, data_.shape(), Mode::kTraining)).trace;
    plan_ = plan(trace_, options_.memory.planner);
  }
  const double loss = position_.batch > 0 ? mean_loss() : position_.more.value("last_loss", 0.0);
  const RunSummary summary{
      .title = options_.model + " on " + data_.train->name(),
      .facts = {{"model", options_.model},
                {"data", data_.train->name()},
                {"batch size", std::to_string(options_.batch_size)},
                {"steps", std::to_string(position_.step)},
                {"loss", fmt::format("{:.4f}", loss)},
                {"test top-1", top1_ ? fmt::format("{:.2f} %", 100 * *top1_) : "–"}},
      .memory = *memory_,
      .trace = trace_,
      .plan = plan_,
      .losses = losses_,
      .step_seconds = median(step_seconds_)};
  write_summary(summary, *directory_);

  CommandResult result;
  result.exit_code = exit_code;
  result.json = {
      {"model", options_.model},
      {"data", data_.train->name()},
      {"steps", position_.step},
      {"epochs", position_.epoch},
      {"loss", loss},
      {"top1", top1_ ? Json(*top1_) : Json(nullptr)},
      {"top5", top5_ ? Json(*top5_) : Json(nullptr)},
      {"seconds", seconds_},
      {"data_wait_seconds", wait_.later_seconds},
      {"first_batch_seconds", wait_.first_seconds},
      {"step_seconds_median", summary.step_seconds ? Json(*summary.step_seconds) : Json(nullptr)},
      {"run_directory", directory_->path().string()},
      {"interrupted", exit_code != 0},
      {"bad_images", bad_images_json(data_)},
      {"memory", to_json(*memory_)}};
  result.text = summary_text(summary, console_.facts().width);
  result.text += bad_images_text(data_);
  result.text +=
      fmt::format("{} steps in {}, loss {:.4f}{}; run folder {}\n", position_.step,
                  format_duration(seconds_), loss, accuracy_text(), directory_->path().string());
  result.text += fmt::format("waited {:.3f} s for data after the first batch, {:.3f} s for that\n",
                             wait_.later_seconds, wait_.first_seconds);
  if (exit_code != 0) {
    console_.warn(
        fmt::format("interrupted after step {}; saved. Go on with: skyline train --resume {}",
                    position_.step, directory_->path().string()));
  }
  return result;
}

}  // namespace skyline
