#include "train/checkpoints/training_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/files.h"
#include "train/cli/usage_error.h"

namespace skyline {

using Json = nlohmann::ordered_json;

StoredJson::StoredJson() : StoredJson(Json::object()) {}
StoredJson::StoredJson(const Json& value) : value_(std::make_unique<Json>(value)) {}
StoredJson::StoredJson(const StoredJson& other) : StoredJson(*other.value_) {}
StoredJson::StoredJson(StoredJson&& other) noexcept = default;
StoredJson::~StoredJson() = default;

StoredJson& StoredJson::operator=(StoredJson other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

bool StoredJson::operator==(const StoredJson& other) const { return *value_ == *other.value_; }

StoredJson read_stored_json(const std::filesystem::path& file) {
  const auto damaged = [&file](const char* why) {
    return UsageError(fmt::format("{} is damaged: it {}", file.string(), why));
  };
  try {
    const Json json = read_ordered_json(read_file(file));
    if (json.is_object()) return StoredJson(json);
  } catch (const JsonError& error) {
    throw damaged(error.what());
  }
  throw damaged("is no JSON object");
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;  // 31 years of a step a microsecond
constexpr std::int64_t kMostOfStep = 4096;                  // micro-batches, ranks
constexpr const char *kLossSum = "loss_sum", *kLastLoss = "last_loss", *kEvaluation = "evaluation",
                     *kEvaluatedStep = "evaluated_step", *kRight = "epoch_right",
                     *kImages = "epoch_images", *kStale = "stale_evaluations";
constexpr std::uint64_t kMostImages = std::uint64_t{1} << 62;

// The workload's facts and the trainer's figures under one key, as in older checkpoints.
Json to_more(const TrainingPosition& position) {
  Json more = *position.data;
  more[kLossSum] = position.loss_sum;
  if (position.epoch > 0) more[kLastLoss] = position.last_loss;
  if (position.images > 0) more.update({{kRight, position.right}, {kImages, position.images}});
  if (position.stale_evaluations > 0) more[kStale] = position.stale_evaluations;
  if (const auto& evaluation = position.evaluation) {
    more[kEvaluation] = {{"text", evaluation->text}, {"metrics", evaluation->metrics}};
    more[kEvaluatedStep] = evaluation->step;
  }
  return more;
}

Json to_json(const TrainingPosition& position) {
  return {{"step", position.step},
          {"epoch", position.epoch},
          {"batch", position.batch},
          {"order_seed", position.order_seed},
          {"random_seed", position.random_seed},
          {"random_next", position.random_next},
          {"best", position.best},
          {"more", to_more(position)},
          {"arguments", *position.arguments}};
}

// A file name that is not UTF-8 must not prevent a checkpoint.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Throws std::invalid_argument unless `field` is a whole number from 0 to `most`.
std::uint64_t whole_number(const Json& json, const char* field, std::uint64_t most) {
  const Json& value = json.at(field);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) {
    return value.get<std::uint64_t>();
  }
  throw std::invalid_argument(
      fmt::format("{} is {}, expected a whole number from 0 to {}", field, dumped(value), most));
}

std::int64_t count(const Json& json, const char* field, std::int64_t most) {
  return static_cast<std::int64_t>(whole_number(json, field, static_cast<std::uint64_t>(most)));
}

const Json& object(const Json& json, const char* field) {
  const Json& value = json.at(field);
  if (value.is_object()) return value;
  throw std::invalid_argument(fmt::format("{} is {}, expected an object", field, dumped(value)));
}

// Returns 0 for a field that is missing.
double number(const Json& json, const char* field) {
  if (!json.contains(field)) return 0;
  const Json& value = json[field];
  if (value.is_number()) return value.get<double>();
  throw std::invalid_argument(fmt::format("{} is {}, expected a number", field, dumped(value)));
}

// JSON has no NaN, so it was written as null.
std::map<std::string, double> metrics(const Json& json, const char* field) {
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : object(json, field).items()) {
    metrics[name] = value.is_null() ? std::nan("") : value.get<double>();
  }
  return metrics;
}

std::optional<StoredEvaluation> evaluation(const Json& more, std::int64_t step) {
  if (!more.contains(kEvaluation)) return {};
  const Json& stored = object(more, kEvaluation);
  return StoredEvaluation{.step = count(more, kEvaluatedStep, step),
                          .text = stored.at("text").get<std::string>(),
                          .metrics = metrics(stored, "metrics")};
}

// How many batches a step takes, on all ranks together.
std::int64_t batches_of_step(const Json& arguments) {
  std::int64_t batches = 1;
  for (const char* const factor : {"micro_batches", "ranks"}) {
    if (arguments.contains(factor))
      batches *= std::max<std::int64_t>(count(arguments, factor, kMostOfStep), 1);
  }
  return batches;
}

}  // namespace

std::string to_text(const TrainingPosition& position) { return dumped(to_json(position)); }

TrainingPosition training_position_from(std::string_view text) {
  const Json json = read_ordered_json(text);
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  TrainingPosition position;
  position.step = count(json, "step", kMostSteps);
  position.epoch = count(json, "epoch", position.step);
  const std::int64_t of_step = batches_of_step(object(json, "arguments"));
  position.batch = count(json, "batch", std::min(position.step, kMostSteps / of_step) * of_step);
  position.order_seed = whole_number(json, "order_seed", kAny);
  position.random_seed = whole_number(json, "random_seed", kAny);
  position.random_next = whole_number(json, "random_next", kAny);
  position.best = metrics(json, "best");
  Json more = object(json, "more");
  position.loss_sum = number(more, kLossSum);
  position.last_loss = number(more, kLastLoss);
  if (more.contains(kImages)) {
    position.images = whole_number(more, kImages, kMostImages);
    position.right = whole_number(more, kRight, position.images);
  }
  if (more.contains(kStale)) position.stale_evaluations = count(more, kStale, position.step);
  position.evaluation = evaluation(more, position.step);
  for (const char* const key :
       {kLossSum, kLastLoss, kEvaluation, kEvaluatedStep, kRight, kImages, kStale}) {
    more.erase(key);
  }
  position.data = std::move(more);
  position.arguments = object(json, "arguments");
  return position;
}

}  // namespace skyline
