#include "train/run/training_log.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/cli/byte_sizes.h"
#include "train/cli/median.h"
#include "train/run/memory_summary.h"

namespace skyline {

using Json = nlohmann::ordered_json;

void WordRate::add(const LoggedStep& step) {
  words += step.batch.words;
  seconds += step.seconds;
}

std::optional<double> WordRate::per_second() const {
  if (words == 0 || seconds <= 0) return {};
  return static_cast<double>(words) / seconds;
}

std::string WordRate::text() const {
  const auto rate = per_second();
  return rate ? fmt::format(", {} target words/s", format_count(std::llround(*rate))) : "";
}

TrainingLog::TrainingLog(std::string allocator, std::string lengths_name, std::int64_t first_step)
    : allocator_(std::move(allocator)) {
  chart_.first_step = static_cast<std::uint64_t>(first_step);
  chart_.lengths_name = std::move(lengths_name);
}

Json TrainingLog::add(const LoggedStep& step, const ModelRun& run) {
  (losses_.empty() ? first_wait_seconds_ : later_wait_seconds_) += step.wait_seconds;
  losses_.push_back(step.loss);
  step_seconds_.push_back(step.seconds);
  epoch_words_.add(step);
  words_.add(step);
  const std::uint64_t reserved = run.memory.device().statistics().reserved_bytes;
  Json line = {{"step", step.number},     {"epoch", step.epoch},
               {"loss", step.loss},       {"learning_rate", step.learning_rate},
               {"seconds", step.seconds}, {"data_wait", step.wait_seconds},
               {"planned", step.planned}, {"reserved", reserved}};
  for (const auto& [name, length] : step.batch.lengths) line[name] = length;
  if (const auto perplexity = step.batch.perplexity(step.loss)) {
    line["words"] = step.batch.words;
    line["perplexity"] = *perplexity;
  }
  if (step.batch.lengths.empty()) return line;
  const Session* session = run.memory.session();
  if (session != nullptr) line.update(to_json(session->session_statistics()));
  add_to_chart(step, run, reserved);
  return line;
}

void TrainingLog::add_to_chart(const LoggedStep& step, const ModelRun& run,
                               std::uint64_t reserved_bytes) {
  if (chart_.lines.empty()) {
    chart_.lines.push_back({.name = allocator_, .reserved_bytes = {}, .replans = {}});
    for (const auto& [name, length] : step.batch.lengths) chart_.lengths.push_back({name, {}});
  }
  chart_.lines.front().reserved_bytes.push_back(reserved_bytes);
  chart_.live_bytes.push_back(run.memory.calls().last_step().peak_bytes);
  for (std::size_t i = 0; i < step.batch.lengths.size(); ++i) {
    chart_.lengths[i].values.push_back(step.batch.lengths[i].second);
  }
}

void TrainingLog::note_replan() {
  if (chart_.lines.empty()) return;
  chart_.lines.front().replans.push_back(chart_.lines.front().reserved_bytes.size());
}

void TrainingLog::end_epoch(Json& row, const ModelRun& run) {
  if (words_.words > 0) {
    const auto rate = epoch_words_.per_second();
    row["words_per_second"] = rate ? Json(*rate) : Json(nullptr);
  }
  epoch_words_ = {};
  row["reserved"] = run.memory.device().statistics().reserved_bytes;
  if (chart_.lines.empty()) return;
  // Writes the same columns without a session, because a run may be resumed with another allocator.
  const Session* session = run.memory.session();
  const Json figures =
      to_json(session != nullptr ? session->session_statistics() : SessionStatistics{});
  for (const auto& [name, figure] : figures.items()) {
    row[name] = session != nullptr ? figure : Json(nullptr);
  }
}

std::optional<double> TrainingLog::step_seconds_median(std::int64_t warmup_steps) const {
  if (steps() <= warmup_steps) return {};
  return median(std::vector<double>(step_seconds_.begin() + warmup_steps, step_seconds_.end()));
}

std::uint64_t TrainingLog::history_bytes() const noexcept {
  const auto bytes = [](const auto& values) { return values.capacity() * sizeof(values.front()); };
  std::uint64_t sum = bytes(losses_) + bytes(step_seconds_) + bytes(chart_.live_bytes);
  for (const StepsLine& line : chart_.lines) {
    sum += bytes(line.reserved_bytes) + bytes(line.replans);
  }
  for (const StepsSeries& series : chart_.lengths) sum += bytes(series.values);
  return sum;
}

}  // namespace skyline
