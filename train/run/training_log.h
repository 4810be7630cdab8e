#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/history/step_series.h"
#include "train/run/evaluation.h"
#include "train/run/model_run.h"

namespace skyline {

// One training step of a run, as logged.
struct LoggedStep {
  std::int64_t number = 0;  // from 1, over the whole run
  std::int64_t epoch = 0;   // from 1
  double loss = 0;
  std::optional<double> inference_loss = {};  // if it was measured
  double learning_rate = 0;
  double seconds = 0;       // excluding the wait for the batch
  double wait_seconds = 0;  // for the batch
  bool planned = false;
  BatchFacts batch;
  TrainingHits hits = {};  // of images
  Launches launches;       // none where ops are not launched, or were timed one by one
};

// Target words and the time of their steps, excluding waits and evaluations.
struct WordRate {
  std::uint64_t words = 0;
  double seconds = 0;

  void add(const LoggedStep& step);
  std::optional<double> per_second() const;  // nothing without text
  std::string text() const;                  // ", 12,345 words/s" or nothing
};

// The figures that a run logs beside its losses.
struct LoggedFigures {
  std::string allocator;             // of this process; the chart's line
  std::string lengths_name;          // what BatchFacts::lengths count
  std::vector<std::string> lengths;  // their names
  std::vector<Metric> metrics;       // of evaluations
};

// Collects the figures of a run in bounded memory: log lines and totals of this process's steps,
// and the report's curves over all steps of the run.
class TrainingLog {
 public:
  explicit TrainingLog(LoggedFigures figures);

  // Restore the curves of a resumed run, from the log lines of its earlier steps and evaluations in
  // ascending order. Steps without a line, up to `step`, are not measured.
  void restore_step(const nlohmann::ordered_json& line);
  void restore_evaluation(const nlohmann::ordered_json& line);
  void restore_missing(std::int64_t step);

  // Adds the step that just ran; returns its log line.
  nlohmann::ordered_json add(const LoggedStep& step, const ModelRun& run);
  // Adds the evaluation after a step; returns its log line.
  nlohmann::ordered_json add(std::int64_t step, std::int64_t epoch, const Evaluation& evaluation);
  // Adds rates and memory to the row of the epoch that just ended, after the trainer's own columns.
  void end_epoch(nlohmann::ordered_json& row, const ModelRun& run);

  std::int64_t steps() const noexcept { return steps_; }           // of this process
  const Launches& launches() const noexcept { return launches_; }  // of the last step
  // Over all steps of the run.
  const StepSeries& losses() const noexcept { return losses_; }
  const std::vector<Metric>& metrics() const noexcept { return figures_.metrics; }
  const Samples<EvaluatedStep>& evaluations() const noexcept { return evaluations_; }
  const StepsChart& chart() const noexcept { return chart_; }

  const WordRate& epoch_words() const noexcept { return epoch_words_; }
  const WordRate& words() const noexcept { return words_; }
  // Returns the median of the steps after the warm-up; in long runs of every second, every fourth
  // and so on.
  std::optional<double> step_seconds_median(std::int64_t warmup_steps) const;
  // Bytes that these figures take on the heap.
  std::uint64_t history_bytes() const noexcept;
  double first_wait_seconds() const noexcept { return first_wait_seconds_; }
  double later_wait_seconds() const noexcept { return later_wait_seconds_; }  // all but the first

 private:
  void add_to_chart(StepMemory step, std::uint64_t replans);

  LoggedFigures figures_;
  StepSeries losses_;
  StepsChart chart_;
  Samples<EvaluatedStep> evaluations_;
  std::uint64_t replans_ = 0;  // of the latest process, after the latest step
  std::int64_t steps_ = 0;
  Launches launches_;
  Samples<std::pair<std::int64_t, double>> step_seconds_;  // by the number of the step
  WordRate epoch_words_, words_;
  double first_wait_seconds_ = 0, later_wait_seconds_ = 0;
};

}  // namespace skyline
