// The loop of a run: steps, evaluations, checkpoints. Messages and the result are in
// trainer_report.cpp.
#include "train/trainer.h"
#include "memory/now_seconds.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/machine/machine_memory.h"
#include "train/checkpoints/initial_weights.h"
#include "train/cli/byte_sizes.h"
#include "train/decide/decide.h"
#include "train/optimizers/optimizer.h"
#include "train/options/memory_options.h"
#include "train/run/divergence.h"
#include "train/state/training_state.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Trainer::Trainer(TrainOptions options, LiveParts live, Console& console)
    : options_(std::move(options)),
      live_(std::move(live)),
      console_(console),
      decided_(decided_workload(options_, live_, console)),
      total_steps_(options_.steps.value_or(options_.epochs * batches_per_epoch() / step_batches())),
      rate_(learning_rate(options_, total_steps_, batches_per_epoch() / step_batches())),
      leader_(live_.group),
      profiler_(profile_key(options_, decided_.decisions)) {
  const bool planned = options_.memory.allocator == kPlannedAllocator;
  const bool lengths_differ = !workload().data().lengths_name.empty();
  const bool interrupted = options_.inference_loss_every > 0;
  if (planned && lengths_differ) {
    console.say(fmt::format("batches differ in length: planning by --policy {}",
                            policy_name(*options_.memory.policy)));
  }
  say_limit();
  run_ = workload().on(decided_.decisions, options_.memory, Mode::kTraining,
                       {.listener = [this](const SessionEvent& event) { on_session_event(event); },
                        .record = interrupted,
                        .shadow_pool = planned && (lengths_differ || interrupted)});
}

Trainer::~Trainer() = default;

// Reads the file first, so that a wrong one leaves no run folder.
void Trainer::initialize() {
  if (options_.init_weights.empty()) return;
  const InitialWeights initial =
      load_initial_weights(run_->context, run_->network(), options_.init_weights);
  for (const std::string& note : initial.notes) {
    console_.say(fmt::format("{}: {}", options_.init_weights, note));
  }
  for (const std::string& warning : initial.warnings) console_.warn(warning);
  console_.say(fmt::format("began with {} of {} tensors of {}", initial.loaded, initial.all,
                           options_.init_weights));
}

// A limit below the physical memory decides what fits.
void Trainer::say_limit() const {
  if (options_.memory.device != "cpu" || options_.memory.capacity_bytes) return;
  const MachineMemory machine = machine_memory();
  if (!machine.limit) return;
  console_.say(fmt::format("{} permits {}, {} of it free: the device has {}", machine.limit->name,
                           format_bytes(machine.limit->limit_bytes),
                           format_bytes(machine.limit->free_bytes()), format_bytes(machine.bytes)));
}

void Trainer::start(const std::optional<std::filesystem::path>& out) {
  initialize();
  directory_ = RunDirectory::create(out, options_.model);
  begin();
}

void Trainer::start_again(const std::filesystem::path& folder,
                          const std::vector<std::string>& changes) {
  initialize();
  directory_ = RunDirectory::resume(folder, {});
  tell_warnings();
  console_.say(fmt::format("{} has no checkpoint: starting again from step 1{}{}", folder.string(),
                           changes.empty() ? "" : " with ", fmt::join(changes, ", ")));
  begin();
}

// The first step's state; directory_ is open and holds no step.
void Trainer::begin() {
  checkpoints_.emplace(directory_->checkpoints());
  if (options_.keep_best) best_.emplace(directory_->best(), 1);
  directory_->write_arguments(to_json(as_decided(options_, decided_.decisions)));
  position_.order_seed = options_.data.seed;
  position_.arguments = to_json(as_decided(options_, decided_.decisions));
  log_.emplace(logged_figures());
  workload().prepare();
  directory_->writing([this] { workload().save(directory_->path(), position_.data); });
}

void Trainer::resume(const LoadedCheckpoint& loaded, const std::vector<std::string>& changes) {
  for (const std::string& warning : loaded.warnings) console_.warn(warning);
  const std::filesystem::path folder = run_folder_of(loaded);
  RunDirectory::check_links(folder);
  workload().check_data(loaded.checkpoint.position.data);  // first: other data end elsewhere
  if (total_steps_ < loaded.checkpoint.position.step) {
    throw UsageError(fmt::format(
        "the run has done {} steps already, which is more than the {} of {}",
        loaded.checkpoint.position.step, total_steps_, options_.steps ? "--steps" : "--epochs"));
  }
  check_position(loaded.checkpoint.position);
  restore(*run_, loaded.checkpoint);
  position_ = loaded.checkpoint.position;
  position_.arguments = to_json(as_decided(options_, decided_.decisions));
  workload().resume(folder, position_.data);
  log_.emplace(logged_figures());
  directory_ = RunDirectory::resume(
      folder,
      {.steps = position_.step, .epochs = position_.epoch, .evaluated_step = evaluated_step()},
      {.step = [this](const Json& line) { log_->restore_step(line); },
       .evaluation = [this](const Json& line) { log_->restore_evaluation(line); }});
  log_->restore_missing(position_.step);
  tell_warnings();
  checkpoints_.emplace(directory_->checkpoints());
  if (options_.keep_best) best_.emplace(directory_->best(), 1);
  saved_step_ = position_.step;
  const bool has_arguments = directory_->has_arguments();
  if (!has_arguments) console_.warn("arguments.json is missing or damaged and is written anew");
  if (!has_arguments || !changes.empty())
    directory_->write_arguments(to_json(as_decided(options_, decided_.decisions)));
  console_.say(fmt::format("resuming {} after step {}{}{}", folder.string(), position_.step,
                           changes.empty() ? "" : " with ", fmt::join(changes, ", ")));
}

// Throws CheckpointError unless the position is one that this run's data leads to.
void Trainer::check_position(const TrainingPosition& position) const {
  const std::int64_t batches = position.step * step_batches();
  const std::int64_t epochs = (batches - position.batch) / batches_per_epoch();
  if (position.batch > batches_per_epoch() || epochs != position.epoch ||
      epochs * batches_per_epoch() + position.batch != batches) {
    throw CheckpointError(fmt::format(
        "the checkpoint is not of this data: step {} is said to be batch {} of epoch {}, but an "
        "epoch has {} batches",
        position.step, position.batch, position.epoch + 1, batches_per_epoch()));
  }
}

LoggedFigures Trainer::logged_figures() const {
  LoggedFigures figures{.allocator = options_.memory.allocator,
                        .lengths_name = workload().data().lengths_name,
                        .lengths = {},
                        .metrics = workload().data().metrics};
  for (const auto& [name, length] : run_->batch_facts().lengths) figures.lengths.push_back(name);
  return figures;
}

void Trainer::tell_warnings() {
  for (const std::string& warning : directory_->take_warnings()) console_.warn(warning);
}

CommandResult Trainer::run() {
  try {
    return run_to_end();
  } catch (const RunFolderLost& lost) {
    progress_.reset();
    throw RunFolderLost(rescued(lost));
  } catch (const WriteError&) {
    if (!directory_->place()) directory_->check();  // throws the cause
    throw;
  }
}

std::string Trainer::rescued(const RunFolderLost& lost) {
  const auto place = directory_->place();
  if (!place) return lost.what();
  try {
    const auto save_there = [this] { checkpoints_->save(capture(*run_, position_)); };
    if (saved_step_ != position_.step) directory_->writing(save_there);
  } catch (const WriteError& error) {
    return fmt::format("{}; it could not be saved there: {}", lost.what(), error.what());
  }
  return fmt::format("{}; saved there after step {}. Continue with: skyline train --resume {}",
                     lost.what(), position_.step, place->string());
}

CommandResult Trainer::run_to_end() {
  const double started = now_seconds();
  Interrupt interrupt;
  progress_.emplace(console_, total_steps_,
                    static_cast<double>(step_batches() * options_.batch_size),
                    workload().data().item, position_.step, options_.print_every);
  bool finished = true;                                  // whether no due evaluation was cut short
  if (evaluation_due()) finished = evaluate(interrupt);  // a signal stopped it in the last process
  run_->seek({.epoch = static_cast<std::uint64_t>(position_.epoch),
              .batch = static_cast<std::uint64_t>(position_.batch)},
             position_.order_seed);
  while (finished && !done() && !interrupt.requested()) {
    next_step();
    tell_problems();
    if (evaluation_due()) finished = evaluate(interrupt);
  }
  if (saved_step_ != position_.step) save();
  leader_.end_run();
  progress_.reset();
  seconds_ = now_seconds() - started;
  return result(finished && done() ? 0 : interrupt.exit_code());
}

void Trainer::next_step() {
  const LoggedStep step = timed_step();
  ++position_.step;
  position_.batch += step_batches();
  position_.loss_sum += step.loss;
  position_.right += step.hits.right;
  position_.images += step.hits.images;
  directory_->log_step(log_->add(step, *run_));
  if (const auto news = run_->take_news()) console_.say(*news);
  if (step.inference_loss) {
    console_.say(fmt::format("step {}: loss {:.4f}, {:.4f} in inference mode", step.number,
                             step.loss, *step.inference_loss));
  }
  if (log_->steps() == decided_.decisions.warmup_steps) {
    device_allocations_at_switch_ = run_->memory.statistics().device_allocations;
  }
  progress_->step_done(
      {.step = position_.step,
       .epoch = position_.epoch + 1,
       .epochs = (total_steps_ * step_batches() + batches_per_epoch() - 1) / batches_per_epoch(),
       .loss = step.loss,
       .top1 = training_top1(),
       .learning_rate = step.learning_rate,
       .note = note_of(step)});
  directory_->check();
  if (evaluation_due()) return;  // evaluate() saves as well
  if (options_.checkpoint_every > 0 && position_.step % options_.checkpoint_every == 0) save();
}

LoggedStep Trainer::timed_step() {
  LoggedStep step{.number = position_.step + 1, .epoch = position_.epoch + 1};
  step.learning_rate = rate_.at(position_.step);
  step.wait_seconds = run_->next();
  step.batch = leader_.begin_step(*run_, step.number, step.learning_rate);
  profiler_.begin_step(run_->context, position_.step);
  const Launches before = run_->context.compute().runner().facts().launches;
  const double started = now_seconds();
  const RandomStream random = run_->context.random();
  const std::int64_t every = options_.inference_loss_every;
  run_->measure_inference_loss(every > 0 && step.number % every == 0);
  try {
    step.loss = run_->train_step(
        {.learning_rate = static_cast<float>(step.learning_rate), .step = step.number});
  } catch (const LossNotFinite& error) {
    // Repeats the forward pass, so it needs the random stream from before the step.
    Divergence::Facts facts = explain_divergence(*run_, random, step.number, error).facts();
    facts.advice = advice_on_divergence(step.learning_rate);
    throw Divergence(std::move(facts));
  }
  step.seconds = now_seconds() - started;
  step.hits = run_->hits();
  step.inference_loss = run_->inference_loss();
  const Launches now = run_->context.compute().runner().facts().launches;
  step.launches = {.ops = now.ops - before.ops, .graphs = now.graphs - before.graphs};
  leader_.end_step(*run_);
  step.planned = session() != nullptr && session()->state() == Session::State::kPlanned;
  if (const auto profile = profiler_.end_step()) {
    directory_->replace(kProfileFile, json_text(*profile));
  }
  return step;
}

void Trainer::tell_problems() {
  for (const std::string& problem : workload().take_problems()) console_.warn(problem);
}

// --- evaluations ---

// True after each epoch, after the last step, and every evaluate_every steps, unless this step was
// evaluated already.
bool Trainer::evaluation_due() const {
  if (position_.step == evaluated_step()) return false;
  const std::int64_t every = options_.evaluate_every;
  return epoch_ended() || (done() && position_.batch != 0) ||
         (every > 0 && position_.step % every == 0);
}

// Saves first, so that a killed evaluation loses no step. Returns false when a signal stopped it;
// it is then due again after a resume.
bool Trainer::evaluate(const Interrupt& interrupt) {
  // A resumed run that starts with this evaluation has no step to describe yet.
  if (log_->steps() > 0) note_plan();
  if (saved_step_ != position_.step) save();
  leader_.begin_evaluation(*run_, position_.step);
  try {
    keep_evaluation(run_->evaluate(position_.step, [&](std::size_t evaluated, std::size_t samples) {
      progress_->evaluated(evaluated, samples);
      if (interrupt.requested()) throw EvaluationStopped();
    }));
  } catch (const EvaluationStopped&) {
    return false;
  }
  tell_problems();
  if (epoch_ended()) {
    finish_epoch();
    tell_warnings();
  } else if (!done()) {
    console_.say(fmt::format("step {}{}", position_.step, evaluation_text()));
  }
  save();
  return true;
}

void Trainer::keep_evaluation(Evaluation evaluation) {
  if (const auto top1 = training_top1()) evaluation.metrics.emplace_back(kTrainingTop1, *top1);
  if (!evaluation.sample.empty()) console_.say(evaluation.sample);
  position_.evaluation = {.step = position_.step,
                          .text = evaluation.text,
                          .metrics = {evaluation.metrics.begin(), evaluation.metrics.end()}};
  directory_->log_evaluation(log_->add(position_.step, position_.epoch + 1, evaluation));
  const DataFacts& data = workload().data();
  const auto is_best = [&](const std::string& name) {
    const double sign =
        std::ranges::find(data.metrics, name, &Metric::name)->kind == MetricKind::kLoss ? -1 : 1;
    const double value = position_.evaluation->metrics.at(name);
    const auto [before, is_first] = position_.best.try_emplace(name, value);
    if (!is_first && sign * value <= sign * before->second) return false;
    before->second = value;
    return true;
  };
  const bool best = is_best(evaluation.metrics.front().first);
  const bool better =
      data.patience == evaluation.metrics.front().first ? best : is_best(data.patience);
  position_.stale_evaluations = better ? 0 : position_.stale_evaluations + 1;
  if (best && best_) directory_->writing([this] { best_->save(capture(*run_, position_)); });
}

void Trainer::finish_epoch() {
  const double loss = mean_loss();
  const auto top1 = training_top1();
  console_.say(fmt::format("epoch {}: loss {:.4f}{}{}{}", position_.epoch + 1, loss,
                           top1 ? fmt::format(", training top-1 {:.2f} %", 100 * *top1) : "",
                           evaluation_text(), log_->epoch_words().text()));
  Json row = {{"epoch", position_.epoch + 1},
              {"steps", position_.step},
              {"loss", loss},
              {"learning_rate", rate_.at(position_.step - 1)}};  // of the last step
  for (const Metric& figure : workload().data().metrics) row[figure.name] = metric(figure.name);
  log_->end_epoch(row, *run_);
  directory_->log_epoch(row);
  position_.last_loss = loss;
  position_.loss_sum = 0;
  position_.right = position_.images = 0;
  ++position_.epoch;
  position_.batch = 0;
}

void Trainer::save() {
  directory_->check();
  const EngineChoices& engines = *live_.engines;
  if (!engines.by_problem.empty()) directory_->replace(kEnginesFile, engines.to_json());
  directory_->writing([this] { checkpoints_->save(capture(*run_, position_)); });
  saved_step_ = position_.step;
}

// --- figures of the position ---

double Trainer::mean_loss() const {
  return position_.loss_sum /
         static_cast<double>(std::max<std::int64_t>(position_.batch / step_batches(), 1));
}

// Returns ", test top-1 40.00 %", or nothing before the first evaluation.
std::string Trainer::evaluation_text() const {
  return position_.evaluation ? ", " + position_.evaluation->text : "";
}

// Returns a metric of the latest evaluation, or null if it has none of that name.
Json Trainer::metric(const std::string& name) const {
  if (!position_.evaluation) return nullptr;
  const auto found = position_.evaluation->metrics.find(name);
  return found == position_.evaluation->metrics.end() ? Json(nullptr) : Json(found->second);
}

}  // namespace skyline
