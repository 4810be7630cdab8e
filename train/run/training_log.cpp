#include "train/run/training_log.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/cli/byte_sizes.h"
#include "train/cli/figures.h"
#include "train/run/memory_summary.h"

namespace skyline {

using Json = nlohmann::ordered_json;

namespace {

// Values of a log line; NaN or nothing if it has none of this name and type.
double number_in(const Json& line, const std::string& name) {
  const auto value = line.find(name);
  return value != line.end() && value->is_number() ? value->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}

std::optional<std::uint64_t> count_in(const Json& line, const std::string& name) {
  const auto value = line.find(name);
  if (value == line.end() || !value->is_number_unsigned()) return {};
  return value->get<std::uint64_t>();
}

}  // namespace

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
  return rate ? fmt::format(", {} words/s", format_count(std::llround(*rate))) : "";
}

TrainingLog::TrainingLog(LoggedFigures figures) : figures_(std::move(figures)) {
  if (figures_.lengths.empty()) return;
  chart_.lengths_name = figures_.lengths_name;
  chart_.lines.push_back({.name = figures_.allocator});
  for (const std::string& name : figures_.lengths) chart_.lengths.push_back({.name = name});
}

void TrainingLog::restore_step(const Json& line) {
  restore_missing(line.at("step").get<std::int64_t>() - 1);
  losses_.add(number_in(line, "loss"));
  if (figures_.lengths.empty()) return;
  StepMemory step{.reserved_bytes = count_in(line, "reserved"),
                  .live_bytes = count_in(line, "live")};
  for (const std::string& name : figures_.lengths) {
    step.lengths.emplace_back(name, count_in(line, name).value_or(0));
  }
  add_to_chart(std::move(step), count_in(line, "replans").value_or(0));
}

void TrainingLog::restore_missing(std::int64_t step) {
  const auto missing = static_cast<std::uint64_t>(step) - losses_.steps();
  losses_.add_missing(missing);
  chart_.add_missing(missing);
}

void TrainingLog::restore_evaluation(const Json& line) {
  EvaluatedStep evaluated{.step = line.at("step").get<std::int64_t>(), .values = {}};
  for (const Metric& metric : figures_.metrics) {
    evaluated.values.push_back(number_in(line, metric.name));
  }
  evaluations_.add(evaluated);
}

Json TrainingLog::add(const LoggedStep& step, const ModelRun& run) {
  (steps_ == 0 ? first_wait_seconds_ : later_wait_seconds_) += step.wait_seconds;
  step_seconds_.add({steps_++, step.seconds});
  launches_ = step.launches;
  losses_.add(step.loss);
  epoch_words_.add(step);
  words_.add(step);
  const std::uint64_t reserved = run.memory.device().statistics().reserved_bytes;
  Json line = {{"step", step.number},     {"epoch", step.epoch},
               {"loss", step.loss},       {"learning_rate", step.learning_rate},
               {"seconds", step.seconds}, {"data_wait", step.wait_seconds},
               {"planned", step.planned}, {"reserved", reserved}};
  if (const auto top1 = step.hits.top1()) line[kTrainingTop1] = *top1;
  if (step.inference_loss) line["inference_loss"] = *step.inference_loss;
  for (const auto& [name, length] : step.batch.lengths) line[name] = length;
  if (const auto perplexity = step.batch.perplexity(step.loss)) {
    line["words"] = step.batch.words;
    line["perplexity"] = *perplexity;
  }
  if (step.batch.lengths.empty()) return line;
  const std::uint64_t live = run.memory.calls().last_step().peak_bytes;
  line["live"] = live;
  std::uint64_t replans = 0;
  if (const Session* session = run.memory.session()) {
    line.update(to_json(session->session_statistics()));
    replans = session->session_statistics().replans;
  }
  add_to_chart({.reserved_bytes = reserved, .live_bytes = live, .lengths = step.batch.lengths},
               replans);
  return line;
}

void TrainingLog::add_to_chart(StepMemory step, std::uint64_t replans) {
  // A process that resumed counts anew.
  step.replans = replans >= replans_ ? replans - replans_ : replans;
  replans_ = replans;
  chart_.add(figures_.allocator, step);
}

Json TrainingLog::add(std::int64_t step, std::int64_t epoch, const Evaluation& evaluation) {
  Json line = {{"step", step}, {"epoch", epoch}};
  for (const auto& [name, value] : evaluation.metrics) line[name] = value;
  restore_evaluation(line);
  return line;
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
  std::vector<double> seconds;
  for (const auto& [step, taken] : step_seconds_.kept()) {
    if (step >= warmup_steps) seconds.push_back(taken);
  }
  return median(std::move(seconds));
}

std::uint64_t TrainingLog::history_bytes() const noexcept {
  const auto bytes = [](const auto& values) { return values.capacity() * sizeof(values.front()); };
  std::uint64_t sum = bytes(losses_.points()) + bytes(chart_.live_bytes.points()) +
                      bytes(step_seconds_.kept()) + bytes(evaluations_.kept());
  for (const StepsLine& line : chart_.lines) {
    sum += bytes(line.reserved_bytes.points()) + bytes(line.replans.points());
  }
  for (const StepsSeries& line : chart_.lengths) sum += bytes(line.values.points());
  return sum;
}

}  // namespace skyline
