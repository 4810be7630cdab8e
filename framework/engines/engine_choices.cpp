#include "framework/engines/engine_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "memory/formats/json_reader.h"

namespace skyline {
namespace {

using Json = nlohmann::json;

constexpr const char* kCpu = "cpu";

// Members that identify a card in cuDNN's description: everything heuristics and kernels depend on,
// and nothing that changes between starts.
constexpr const char* kIdentity[] = {"deviceName", "deviceVer", "multiProcessorCount",
                                     "maxSharedMemoryPerBlockOptin"};

Json parse(const std::string& json, const std::string& where) {
  try {
    return read_json(json);
  } catch (const JsonError& error) {
    throw std::runtime_error(fmt::format("[{}] {}", where, error.what()));
  }
}

// Reads members of one plan file; its errors name the file.
class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  template <typename Value>
  Value read(const Json& object, const std::string& name) const {
    try {
      const Json& value = object.at(name);
      if (!kNumbers<Value> || whole(value)) return value.get<Value>();
    } catch (const Json::exception&) {
      // Reported below, like any other wrong value.
    }
    throw std::runtime_error(fmt::format("[{}] member {}, got {:.60}, expected a {}", where_, name,
                                         got(object, name), expected<Value>()));
  }

  // Requires a member of that name and value.
  void require(const Json& object, const std::string& name, const std::string& value) const {
    if (object.at(name) == value) return;
    throw std::runtime_error(fmt::format("[{}] member {}, got {:.60}, expected {}", where_, name,
                                         object.at(name).dump(), value));
  }

  EngineChoice choice(const Json& object) const {
    return {.engine = read<std::int64_t>(object, "engine"),
            .knobs = read<decltype(EngineChoice::knobs)>(object, "knobs"),
            .finishes = read<bool>(object, "finishes"),
            .workspace_bytes = read<std::size_t>(object, "workspace_bytes"),
            .seconds = object.contains("seconds") ? read<double>(object, "seconds") : 0};
  }

 private:
  template <typename Value>
  static constexpr bool kNumbers = (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) ||
                                   std::is_same_v<Value, decltype(EngineChoice::knobs)>;

  // True for a whole number or nested lists of them; get() would truncate fractions and wrap
  // around.
  static bool whole(const Json& value) {
    if (value.is_array()) return std::ranges::all_of(value, whole);
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost;
  }

  static std::string got(const Json& object, const std::string& name) {
    if (!object.is_object() || !object.contains(name)) return "none";
    return object[name].dump();
  }
  template <typename Value>
  static const char* expected() {
    if constexpr (std::is_same_v<Value, bool>) return "boolean";
    if constexpr (std::is_same_v<Value, double>) return "number";
    if constexpr (std::is_integral_v<Value>) return "whole number";
    if constexpr (std::is_same_v<Value, Json::object_t>) return "table";
    if constexpr (std::is_same_v<Value, std::string>) return "name";
    return "list of pairs of whole numbers";
  }

  const std::string& where_;
};

std::string name_of(const std::string& card) {
  const Json description = read_json(card);
  const std::int64_t version = description.value("deviceVer", std::int64_t{0});
  return fmt::format("{} (compute capability {}.{}, {} multiprocessors)",
                     description.value("deviceName", "an unnamed card"), version / 100,
                     version % 100 / 10, description.value("multiProcessorCount", 0));
}

std::string to_json_of_cpu(const EngineChoices& choices) {
  Json names = Json::object();
  for (const auto& [problem, choice] : choices.by_problem) names[problem] = choice.name;
  return Json{{"device", kCpu}, {"engines", names}}.dump(1);
}

EngineChoices cpu_choices(const Json& file, const Reader& reader) {
  reader.require(file, "device", kCpu);
  EngineChoices choices;
  const Json names = reader.read<Json::object_t>(file, "engines");
  for (const auto& [problem, name] : names.items()) {
    choices.by_problem[problem].name = reader.read<std::string>(names, problem);
  }
  return choices;
}

}  // namespace

std::string EngineChoices::card_name() const { return card.empty() ? "the CPU" : name_of(card); }

std::string EngineChoices::to_json() const {
  if (card.empty()) return to_json_of_cpu(*this);
  Json choices = Json::object();
  for (const auto& [problem, choice] : by_problem) {
    choices[problem] = {{"engine", choice.engine},
                        {"knobs", choice.knobs},
                        {"finishes", choice.finishes},
                        {"workspace_bytes", choice.workspace_bytes}};
    if (choice.seconds > 0) choices[problem]["seconds"] = choice.seconds;
  }
  return Json{{"card", read_json(card)}, {"cudnn", cudnn}, {"engines", choices}}.dump(1);
}

EngineChoices EngineChoices::from_json(const std::string& json, const std::string& where) {
  const Json file = parse(json, where);
  const Reader reader(where);
  if (file.is_object() && file.contains("device")) return cpu_choices(file, reader);
  const Json card = reader.read<Json::object_t>(file, "card");
  reader.read<std::string>(card, "deviceName");
  reader.read<std::int64_t>(card, "deviceVer");
  reader.read<std::int64_t>(card, "multiProcessorCount");
  EngineChoices choices{.card = card.dump()};
  if (!file.contains("engines")) return choices;
  choices.cudnn = reader.read<std::int64_t>(file, "cudnn");
  for (const auto& [problem, choice] : reader.read<Json::object_t>(file, "engines")) {
    choices.by_problem[problem] = reader.choice(choice);
  }
  return choices;
}

std::string TimedEngines::str() const {
  std::string lines;
  for (std::size_t k = 0; k < engines.size(); ++k) {
    const auto& [choice, failure] = engines[k];
    std::vector<std::string> knobs;
    for (const auto& [type, value] : choice.knobs)
      knobs.push_back(fmt::format("{}:{}", type, value));
    lines += fmt::format(
        "candidate: {} engine={} knobs={} finishes={} workspace={} seconds={}{}{}\n", problem,
        choice.engine, fmt::join(knobs, ","), choice.finishes, choice.workspace_bytes,
        choice.seconds > 0 ? fmt::format("{:.3e}", choice.seconds)
        : failure.empty()  ? "not-timed"
                           : "failed",
        k == chosen ? " chosen" : "", failure.empty() ? "" : " " + failure);
  }
  return refused_bytes == 0 ? lines : lines + refusal() + "\n";
}

std::string TimedEngines::refusal() const {
  if (refused_bytes == 0) return {};
  return fmt::format("not timed: {}: the device refused {} bytes", problem, refused_bytes);
}

void require_same_card(const EngineChoices& plan, const std::string& card, std::int64_t cudnn) {
  const Json planned = read_json(plan.card), here = read_json(card);
  for (const char* member : kIdentity) {
    if (planned.value(member, Json()) == here.value(member, Json())) continue;
    throw std::runtime_error(fmt::format("[plan] card, got a plan for {}, expected one for {}: {}",
                                         name_of(plan.card), name_of(card), member));
  }
  if (plan.by_problem.empty() || plan.cudnn == cudnn) return;
  throw std::runtime_error(
      fmt::format("[plan] cuDNN, got a plan for version {}, expected {}", plan.cudnn, cudnn));
}

}  // namespace skyline
