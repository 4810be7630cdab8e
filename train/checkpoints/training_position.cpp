#include "train/checkpoints/training_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "memory/formats/json_reader.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;  // 31 years of a step a microsecond
constexpr std::int64_t kMostOfStep = 4096;                  // micro-batches, ranks

Json to_json(const TrainingPosition& position) {
  return {{"step", position.step},
          {"epoch", position.epoch},
          {"batch", position.batch},
          {"order_seed", position.order_seed},
          {"random_seed", position.random_seed},
          {"random_next", position.random_next},
          {"best", position.best},
          {"more", *position.more},
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
  for (const auto& [name, value] : object(json, "best").items()) {
    // JSON has no NaN, so it was written as null.
    position.best[name] = value.is_null() ? std::nan("") : value.get<double>();
  }
  position.more = object(json, "more");
  position.arguments = object(json, "arguments");
  return position;
}

}  // namespace skyline
