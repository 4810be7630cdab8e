#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/run/model_run.h"
#include "train/run/steps_chart.h"

namespace skyline {

// One training step of a run, as logged.
struct LoggedStep {
  std::int64_t number = 0;  // from 1, over the whole run
  std::int64_t epoch = 0;   // from 1
  double loss = 0;
  double learning_rate = 0;
  double seconds = 0;       // excluding the wait for the batch
  double wait_seconds = 0;  // for the batch
  bool planned = false;
  BatchFacts batch;
};

// Target words and the time of their steps, excluding waits and evaluations.
struct WordRate {
  std::uint64_t words = 0;
  double seconds = 0;

  void add(const LoggedStep& step);
  std::optional<double> per_second() const;  // nothing without text
  std::string text() const;                  // ", 12,345 target words/s" or nothing
};

// Collects the figures of this process's steps: log lines, the report's chart, totals.
class TrainingLog {
 public:
  // `allocator` and `lengths_name` are for the chart; `first_step` counts from 1.
  TrainingLog(std::string allocator, std::string lengths_name, std::int64_t first_step);

  // Adds the step that just ran; returns its log line.
  nlohmann::ordered_json add(const LoggedStep& step, const ModelRun& run);
  // Notes that a new plan serves from the next step on.
  void note_replan();
  // Adds rates and memory to the row of the epoch that just ended, after the trainer's own columns.
  void end_epoch(nlohmann::ordered_json& row, const ModelRun& run);

  std::int64_t steps() const noexcept { return std::ssize(losses_); }
  const std::vector<double>& losses() const noexcept { return losses_; }
  const StepsChart& chart() const noexcept { return chart_; }
  const WordRate& epoch_words() const noexcept { return epoch_words_; }
  const WordRate& words() const noexcept { return words_; }
  std::optional<double> step_seconds_median(std::int64_t warmup_steps) const;
  // Bytes that these figures take on the heap.
  std::uint64_t history_bytes() const noexcept;
  double first_wait_seconds() const noexcept { return first_wait_seconds_; }
  double later_wait_seconds() const noexcept { return later_wait_seconds_; }  // all but the first

 private:
  void add_to_chart(const LoggedStep& step, const ModelRun& run, std::uint64_t reserved_bytes);

  std::vector<double> losses_, step_seconds_;
  StepsChart chart_;
  std::string allocator_;
  WordRate epoch_words_, words_;
  double first_wait_seconds_ = 0, later_wait_seconds_ = 0;
};

}  // namespace skyline
