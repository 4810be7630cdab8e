#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/planners/solvers/solver_planners.h"
#include "train/checkpoints/training_state.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/json_text.h"
#include "train/cli/median.h"
#include "train/optimizers/learning_rate.h"
#include "train/report/run_summary.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEvaluation = "evaluation";  // in TrainingPosition::more
// With another shape each step plans come and go: these are told, the rest is in the log.
constexpr std::uint64_t kEventsTold = 12;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Trainer::Trainer(TrainOptions options, Console& console)
    : options_(std::move(options)),
      console_(console),
      task_(make_task(
          options_, [this](const SessionEvent& event) { on_session_event(event); }, console)),
      batches_per_epoch_(task_->batches_per_epoch()),
      total_steps_(options_.steps.value_or(options_.epochs * batches_per_epoch_)) {
  Session* session = task_->workplace().memory.session();
  if (options_.memory.policy == ShapePolicy::kUpperBound && session != nullptr) {
    session->adopt(task_->longest_steps(), task_->longest_key());
  }
}

Trainer::~Trainer() = default;

void Trainer::start(const std::optional<std::filesystem::path>& out) {
  directory_ = RunDirectory::create(out, options_.model);
  checkpoints_.emplace(directory_->checkpoints());
  if (options_.keep_best) best_.emplace(directory_->best(), 1);
  directory_->write_arguments(to_json(options_));
  position_.order_seed = options_.data.seed;
  position_.arguments = to_json(options_);
  task_->start(directory_->path(), position_);
}

void Trainer::resume(const LoadedCheckpoint& loaded) {
  for (const std::string& warning : loaded.warnings) console_.warn(warning);
  restore(task_->workplace(), loaded.checkpoint);
  position_ = loaded.checkpoint.position;
  position_.arguments = to_json(options_);
  const std::filesystem::path folder = run_folder_of(loaded);
  task_->resume(folder, position_);
  directory_ = RunDirectory::resume(folder, position_.step, position_.epoch);
  checkpoints_.emplace(directory_->checkpoints());
  if (options_.keep_best) best_.emplace(directory_->best(), 1);
  saved_step_ = position_.step;
  console_.say(fmt::format("resuming {} after step {}", folder.string(), position_.step));
}

CommandResult Trainer::run() {
  const double started = now_seconds();
  Interrupt interrupt;
  task_->seek(position_);
  chart_.first_step = static_cast<std::uint64_t>(position_.step) + 1;
  progress_.emplace(console_, total_steps_, static_cast<double>(options_.batch_size),
                    std::string(task_->item()), position_.step);
  while (!done() && !interrupt.requested()) {
    after_step(one_step());
    task_->report_problems(console_);
  }
  if (done() && position_.batch != 0) evaluate_now();
  task_->report_problems(console_);
  if (saved_step_ != position_.step) save();
  progress_.reset();
  seconds_ = now_seconds() - started;
  return finish(done() ? 0 : interrupt.exit_code());
}

void Trainer::WordRate::add(const Step& step) {
  words += step.words;
  seconds += step.seconds;
}

Json Trainer::WordRate::per_second() const {
  return words > 0 && seconds > 0 ? Json(static_cast<double>(words) / seconds) : Json(nullptr);
}

std::string Trainer::WordRate::text() const {
  const Json rate = per_second();
  if (rate.is_null()) return {};
  return fmt::format(", {} target words/s", format_count(std::llround(rate.get<double>())));
}

Trainer::Step Trainer::one_step() {
  const double started = now_seconds();
  const LearningRate rate{options_.learning_rate, options_.schedule, total_steps_};
  const double learning_rate = rate.at(position_.step);
  Step step{task_->step(position_.step + 1, learning_rate), learning_rate};
  step.seconds = now_seconds() - started - step.wait_seconds;
  step.planned = session() != nullptr && session()->state() == Session::State::kPlanned;
  (steps_run_ == 0 ? wait_.first_seconds : wait_.later_seconds) += step.wait_seconds;
  return step;
}

void Trainer::after_step(const Step& step) {
  ++position_.step;
  ++position_.batch;
  ++steps_run_;
  (*position_.more)["loss_sum"] = position_.more->value("loss_sum", 0.0) + step.loss;
  losses_.push_back(step.loss);
  if (steps_run_ == options_.memory.warmup_steps) {
    device_allocations_at_switch_ = task_->workplace().memory.statistics().device_allocations;
  }
  if (steps_run_ > options_.memory.warmup_steps) step_seconds_.push_back(step.seconds);
  epoch_words_.add(step);
  run_words_.add(step);
  note_memory(step);
  progress_->step_done(position_.step, position_.epoch + 1,
                       (total_steps_ + batches_per_epoch_ - 1) / batches_per_epoch_, step.loss,
                       session() == nullptr ? ""
                       : step.planned       ? "planned"
                                            : "warm-up");
  if (position_.batch == batches_per_epoch_) return finish_epoch();
  if (done()) return;  // run() evaluates, and saves what that found as well
  if (task_->evaluates_after(position_.step)) {
    evaluate_now();
    console_.say(fmt::format("step {}{}", position_.step, evaluation_text()));
  }
  if (options_.checkpoint_every > 0 && position_.step % options_.checkpoint_every == 0) save();
}

// The log's line of a step, and its points in the report's chart.
void Trainer::note_memory(const Step& step) {
  const std::uint64_t reserved = task_->workplace().memory.device().statistics().reserved_bytes;
  Json line = {{"step", position_.step},  {"epoch", position_.epoch + 1},
               {"loss", step.loss},       {"learning_rate", step.learning_rate},
               {"seconds", step.seconds}, {"data_wait", step.wait_seconds},
               {"planned", step.planned}, {"reserved", reserved}};
  for (const auto& [name, length] : step.lengths) line[name] = length;
  if (step.words > 0) {
    line["words"] = step.words;
    line["perplexity"] = step.perplexity;
  }
  if (session() != nullptr && !step.lengths.empty()) {
    line.update(skyline::to_json(session()->session_statistics()));
  }
  directory_->log_step(line);
  if (step.lengths.empty()) return;
  if (chart_.lines.empty()) {
    chart_.lines.push_back(
        {.name = options_.memory.allocator, .reserved_bytes = {}, .replans = {}});
    for (const auto& [name, length] : step.lengths) chart_.lengths.push_back({name, {}});
    chart_.lengths_name = task_->lengths_name();
  }
  chart_.lines.front().reserved_bytes.push_back(reserved);
  chart_.live_bytes.push_back(task_->workplace().memory.calls().last_step().peak_bytes);
  for (std::size_t i = 0; i < step.lengths.size(); ++i) {
    chart_.lengths[i].values.push_back(step.lengths[i].second);
  }
}

double Trainer::mean_loss() const {
  return position_.more->value("loss_sum", 0.0) /
         static_cast<double>(std::max<std::int64_t>(position_.batch, 1));
}

void Trainer::finish_epoch() {
  evaluate_now();
  const double loss = mean_loss();
  Json row = {{"epoch", position_.epoch + 1}, {"steps", position_.step}, {"loss", loss}};
  for (const std::string& name : task_->metric_names()) row[name] = metric(name);
  if (run_words_.words > 0) row["words_per_second"] = epoch_words_.per_second();
  row["reserved"] = task_->workplace().memory.device().statistics().reserved_bytes;
  if (!chart_.lines.empty()) {
    // The same columns without a session: a run may be taken up again under another allocator.
    const Json figures = skyline::to_json(session() != nullptr ? session()->session_statistics()
                                                               : SessionStatistics{});
    for (const auto& [name, figure] : figures.items()) {
      row[name] = session() != nullptr ? figure : Json(nullptr);
    }
  }
  directory_->log_epoch(row);
  console_.say(fmt::format("epoch {}: loss {:.4f}{}{}", position_.epoch + 1, loss,
                           evaluation_text(), epoch_words_.text()));
  epoch_words_ = {};
  (*position_.more)["last_loss"] = loss;
  (*position_.more)["loss_sum"] = 0.0;
  ++position_.epoch;
  position_.batch = 0;
  save();
}

// Where each step has a plan of its own, the longest one's is told in the end.
bool Trainer::tells_its_plan() const {
  return session() != nullptr && session()->state() == Session::State::kPlanned &&
         (options_.memory.policy != ShapePolicy::kUpperBound ||
          session()->session_statistics().adopted_plans == 0);
}

// Right after a training step: an evaluation may have a plan of its own.
void Trainer::note_plan() {
  memory_ =
      memory_summary(task_->workplace(), options_.memory.allocator, device_allocations_at_switch_);
  if (!tells_its_plan()) return;
  trace_ = session()->trace();
  plan_ = session()->plan();
}

void Trainer::evaluate_now() {
  Workplace& workplace = task_->workplace();
  if (steps_run_ > 0) note_plan();
  const Task::Evaluation evaluation = task_->evaluate(position_.step);
  if (!evaluation.sample.empty()) console_.say(evaluation.sample);
  Json metrics = Json::object();
  for (const auto& [name, value] : evaluation.metrics) metrics[name] = value;
  (*position_.more)[kEvaluation] = {{"text", evaluation.text}, {"metrics", metrics}};
  const auto& [name, value] = evaluation.metrics.front();
  const bool first = !position_.best.contains(name);
  if (!first && value <= position_.best[name]) return;
  position_.best[name] = value;
  if (best_) best_->save(capture(workplace, position_));
}

// ", test top-1 40.00 %", or nothing before the first evaluation.
std::string Trainer::evaluation_text() const {
  if (!position_.more->contains(kEvaluation)) return {};
  return ", " + (*position_.more)[kEvaluation]["text"].get<std::string>();
}

// Of the evaluation that came last; null where it has none of that name.
Json Trainer::metric(const std::string& name) const {
  if (!position_.more->contains(kEvaluation)) return nullptr;
  return (*position_.more)[kEvaluation]["metrics"].value(name, Json(nullptr));
}

void Trainer::save() {
  checkpoints_->save(capture(task_->workplace(), position_));
  saved_step_ = position_.step;
}

// Told between steps; the session counts evaluation steps too, so the number is the trainer's.
void Trainer::on_session_event(const SessionEvent& event) {
  using Kind = SessionEvent::Kind;
  const std::int64_t next_step = position_.step + 1;
  if (event.kind == Kind::kReplanned && !chart_.lines.empty()) {
    chart_.lines.front().replans.push_back(chart_.lines.front().reserved_bytes.size());
  }
  if (event.kind == Kind::kReplanFailed) {
    console_.warn("the device cannot hold the new plan, so all stays as it was: " + event.problem);
    return;
  }
  const bool of_evaluation = task_ != nullptr && task_->is_evaluation(event.shape_key);
  if (event.kind == Kind::kAdopted && !of_evaluation) return;
  if (++events_told_ > kEventsTold) {
    if (events_told_ == kEventsTold + 1) {
      console_.say("deviations and plans go on; the run's log has their numbers");
    }
    return;
  }
  if (event.kind == Kind::kDeviated) {
    console_.warn(
        fmt::format("a step before step {} left its plan ({}, {} requests) and was served "
                    "safely",
                    next_step, deviation_name(event.deviation->kind), event.deviation->count));
    return;
  }
  const std::string_view what = of_evaluation                   ? "planned the evaluation"
                                : event.kind == Kind::kSwitched ? "switched to the plan"
                                                                : "planned anew";
  console_.say(fmt::format(
      "{} before step {}: {} requests in {} (lower bound {}, gap {:.2f} %{}), planned in {:.2f} "
      "ms; reserved {} before, {} after: {}",
      what, next_step, event.blocks, format_bytes(event.peak), format_bytes(event.lower_bound),
      100 * event.gap, event.proved_optimal ? ", proved optimal" : "", 1e3 * event.planning_seconds,
      format_bytes(event.reserved_bytes_before), format_bytes(event.reserved_bytes_after),
      saving_sentence(event.reserved_bytes_before, event.reserved_bytes_after)));
}

CommandResult Trainer::finish(int exit_code) {
  const Workplace& workplace = task_->workplace();
  if (!memory_) note_plan();
  update_totals(*memory_, workplace, device_allocations_at_switch_);
  if (trace_.size() == 0) {
    trace_ = task_->longest_steps().front();
    plan_ = plan(trace_, options_.memory.planner, {}, all_planners());
  }
  if (memory_->blocks) set_plan(*memory_, trace_.size(), plan_);
  const double loss = position_.batch > 0 ? mean_loss() : position_.more->value("last_loss", 0.0);
  RunSummary summary{.title = options_.model + " on " + task_->data_name(),
                     .facts = {{"model", options_.model},
                               {"data", task_->data_name()},
                               {"batch size", std::to_string(options_.batch_size)},
                               {"steps", std::to_string(position_.step)},
                               {"loss", fmt::format("{:.4f}", loss)}},
                     .memory = *memory_,
                     .trace = trace_,
                     .plan = plan_,
                     .losses = losses_,
                     .step_seconds = median(step_seconds_),
                     .steps = chart_};
  const std::string evaluation = evaluation_text();
  if (!evaluation.empty()) summary.facts.push_back({"evaluation", evaluation.substr(2)});
  write_summary(summary, *directory_);
  const EngineChoices& engines = *options_.device.engines;
  if (!engines.by_problem.empty())
    directory_->replace(std::string(kEnginesFile), engines.to_json());

  CommandResult result;
  result.exit_code = exit_code;
  Json json = result_json(loss, exit_code != 0);
  result.text = summary_text(summary, console_.facts().width);
  task_->add_facts(json, result.text);
  result.json = json_text(json);
  result.text += fmt::format("{} steps in {}, loss {:.4f}{}{}; run folder {}\n", position_.step,
                             format_duration(seconds_), loss, evaluation, run_words_.text(),
                             directory_->path().string());
  result.text += fmt::format("waited {:.3f} s for data after the first batch, {:.3f} s for that\n",
                             wait_.later_seconds, wait_.first_seconds);
  if (exit_code != 0) {
    console_.warn(
        fmt::format("interrupted after step {}; saved. Go on with: skyline train --resume {}",
                    position_.step, directory_->path().string()));
  }
  return result;
}

Json Trainer::result_json(double loss, bool interrupted) const {
  Json json = {{"model", options_.model},
               {"data", task_->data_name()},
               {"steps", position_.step},
               {"epochs", position_.epoch},
               {"loss", loss}};
  for (const std::string& name : task_->metric_names()) json[name] = metric(name);
  const std::optional<double> step_seconds = median(step_seconds_);
  json["seconds"] = seconds_;
  if (run_words_.words > 0) json["words_per_second"] = run_words_.per_second();
  json["data_wait_seconds"] = wait_.later_seconds;
  json["first_batch_seconds"] = wait_.first_seconds;
  json["step_seconds_median"] = step_seconds ? Json(*step_seconds) : Json(nullptr);
  json["run_directory"] = directory_->path().string();
  json["interrupted"] = interrupted;
  json["memory"] = to_json(*memory_);
  if (!chart_.lines.empty()) {
    const StepsLine& line = chart_.lines.front();
    json["memory"]["replans_per_hundred_steps"] =
        counts_per_hundred(line.replans, line.reserved_bytes.size());
  }
  return json;
}

}  // namespace skyline
