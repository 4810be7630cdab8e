#include "train/options/train_options.h"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "models/models.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/did_you_mean.h"
#include "train/cli/option_types.h"
#include "train/options/allocator_options.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMany = 1'000'000'000;
constexpr std::string_view kSeq2Seq = "seq2seq";
// Groups of options, as --help shows them.
constexpr const char* kEveryModel = "Options";
constexpr const char* kImages = "Images";
constexpr const char* kTranslation = "Translation";
constexpr double kSeq2SeqLearningRate = 1e-3;  // Adam's

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) names.emplace_back(entry.name);
  names.emplace_back(kSeq2Seq);
  return names;
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const PlannerEntry& entry : planners()) names.emplace_back(entry.name);
  return names;
}

// Flags that may change when a run is taken up again: they change no loss and no parameter.
constexpr std::string_view kNeutral[] = {
    "allocator",
    "capacity",
    "max_split_size",
    "garbage_collection_threshold",
    "expandable_segments",
    "roundup_power2_divisions",
    "bfc_limit",
    "no_bfc_growth",
    "planner",
    "policy",
    "warmup_steps",
    "guard",
    "check",
    "checkpoint_every",
    "keep_best",
    "translate_every",
    "decode_threads",
    "strict",
};

std::string flag_of(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

}  // namespace

void add_training_options(CLI::App& app, TrainOptions& options) {
  add_choice(
      app, "--model", options.model, model_names(), "model",
      "What to train; seq2seq reads text: --data numbers, --data FILE with tabs, or --source "
      "and --target");
  app.option_defaults()->group(kImages);
  add_data_options(app, options.data);
  app.get_option("--data")->group(kEveryModel);
  add_number(app, "--momentum", options.momentum, 0, 1, "Of SGD's velocity");
  add_number(app, "--weight-decay", options.weight_decay, 0, 1e6, "SGD's: L2, on every parameter");
  app.option_defaults()->group(kTranslation);
  add_translation_options(app, options.translation);
  app.option_defaults()->group(kEveryModel);
  add_integer(app, "--batch-size", options.batch_size, 1, kMany, "Images or sentences a step");
  add_number(app, "--learning-rate", options.learning_rate, 0, 1e6, "0 means the model's own");
  add_choice(app, "--schedule", options.schedule, schedule_names(), "schedule",
             "How the learning rate falls over the run");
  add_integer(app, "--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max(),
              "Of parameters, the order of samples and generated ones");
  add_choice(app, "--device", options.memory.device, {"cpu", "cuda"}, "device",
             "What computes, and whose memory is planned");
  add_device_options(app, options.device);
  app.get_option("--prefetch")->group(kImages);
  add_integer(app, "--threads", options.threads, 0, 4096, "0 means what the model is worth");
  app.add_flag("!--no-in-place", options.in_place, "Never write an output over an input");
  add_recompute(app, options.recompute);
  add_fused_update(app, options.fused_update);
  for (const char* flag : {"--recompute", "--fused-update"}) app.get_option(flag)->group(kImages);
  app.add_flag("--guard", options.memory.guard, "Guard bytes and poison around every block");
  app.add_flag("--check", options.memory.check, "Check every hand-out against all live blocks");
}

void add_memory_options(CLI::App& app, TrainOptions& options) {
  add_bytes(app, "--capacity", options.memory.capacity_bytes,
            "Of the device; otherwise what it has");
  add_allocator_options(app, options.memory.allocator_options);
  add_choice(app, "--planner", options.memory.planner, planner_names(), "planner",
             "Who packs the recorded step");
  app.add_option_function<std::string>(
         "--policy",
         [&options](const std::string& name) {
           if (std::ranges::find(policy_names(), name) == policy_names().end()) {
             throw UsageError("--policy: " + unknown_name("policy", name, policy_names()));
           }
           options.memory.policy = policy_of(name);
         },
         fmt::format("What another shape does to the plan: {}", fmt::join(policy_names(), ", ")))
      ->type_name("TEXT")
      ->default_str(policy_name(options.memory.policy));
  app.add_option_function<std::int64_t>(
         "--warmup-steps",
         [&options](std::int64_t steps) {
           if (steps < 1 || steps > 1000) {
             throw UsageError("--warmup-steps: expected a whole number from 1 to 1000");
           }
           options.memory.warmup_steps = static_cast<int>(steps);
         },
         "Steps on the pool before the switch; the last one is recorded")
      ->default_str(std::to_string(options.memory.warmup_steps));
}

bool translates(const TrainOptions& options) { return options.model == kSeq2Seq; }

void check_given(const CLI::App& app, const TrainOptions& options) {
  const std::string foreign = translates(options) ? kImages : kTranslation;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_group() != foreign) continue;
    throw UsageError(fmt::format("{} is for models that {}, got --model {}", option->get_name(),
                                 translates(options) ? "read images" : "translate", options.model));
  }
}

void move_to(TrainOptions& options, const std::string& device) {
  if (device.empty() || device == options.memory.device) return;
  options.memory = {.device = device};
  options.device = {};
}

void resolve(TrainOptions& options) {
  if (options.learning_rate <= 0) {
    // Through the decimal text, so that 0.1f is stored as 0.1.
    options.learning_rate =
        translates(options) ? kSeq2SeqLearningRate
                            : std::stod(fmt::format("{}", find_model(options.model).learning_rate));
  }
  options.memory.allocator = canonical_allocator_name(options.memory.allocator);
  if (translates(options) && options.data.data == DataOptions{}.data) options.data.data = "numbers";
  if (translates(options) && !options.translation.source.empty() &&
      options.data.data != "numbers") {
    throw UsageError("--data and --source exclude each other: give one of them");
  }
  resolve(options.data);
  resolve(options.translation);
  resolve(options.device, options.memory.device);
  check_device_of(options.memory.allocator, options.memory.device);
  if (options.memory.device == "cpu" && options.device.workspace_bytes) {
    throw UsageError("--workspace is a CUDA device's: give --device cuda");
  }
  options.data.seed = static_cast<std::uint64_t>(options.seed);
  if (options.threads == 0 && !translates(options)) {
    options.threads = find_model(options.model).threads;
  }
  if (options.threads == 0) options.threads = omp_get_num_procs();
  omp_set_num_threads(static_cast<int>(options.threads));
}

Json to_json(const TrainOptions& options) {
  Json json = {
      {"model", options.model},
      {"epochs", options.epochs},
      {"steps", options.steps ? Json(*options.steps) : Json(nullptr)},
      {"batch_size", options.batch_size},
      {"learning_rate", options.learning_rate},
      {"schedule", options.schedule},
      {"momentum", options.momentum},
      {"weight_decay", options.weight_decay},
      {"seed", options.seed},
      {"threads", options.threads},
      {"no_in_place", !options.in_place},
      {"recompute", options.recompute},
      {"fused_update", options.fused_update},
      {"device", options.memory.device},
      {"allocator", options.memory.allocator},
      {"capacity",
       options.memory.capacity_bytes ? Json(*options.memory.capacity_bytes) : Json(nullptr)},
      {"planner", options.memory.planner},
      {"policy", policy_name(options.memory.policy)},
      {"warmup_steps", options.memory.warmup_steps},
      {"guard", options.memory.guard},
      {"check", options.memory.check},
      {"checkpoint_every", options.checkpoint_every},
      {"keep_best", options.keep_best},
  };
  write_device_options(options.device, json);
  write_data_options(options.data, json);
  write_translation_options(options.translation, json);
  write_allocator_options(options.memory.allocator_options, json);
  return json;
}

TrainOptions train_options_from(const Json& json) {
  TrainOptions options;
  try {
    json.at("model").get_to(options.model);
    options.data = read_data_options(json);
    options.translation = read_translation_options(json);
    json.at("epochs").get_to(options.epochs);
    if (!json.at("steps").is_null()) options.steps = json.at("steps").get<std::int64_t>();
    json.at("batch_size").get_to(options.batch_size);
    json.at("learning_rate").get_to(options.learning_rate);
    json.at("schedule").get_to(options.schedule);
    json.at("momentum").get_to(options.momentum);
    json.at("weight_decay").get_to(options.weight_decay);
    json.at("seed").get_to(options.seed);
    json.at("threads").get_to(options.threads);
    options.in_place = !json.at("no_in_place").get<bool>();
    options.recompute = json.value("recompute", std::int64_t{0});  // stored runs may lack these
    options.fused_update = json.value("fused_update", false);
    json.at("device").get_to(options.memory.device);
    options.device = read_device_options(json);
    json.at("allocator").get_to(options.memory.allocator);
    if (!json.at("capacity").is_null()) {
      options.memory.capacity_bytes = json.at("capacity").get<std::uint64_t>();
    }
    options.memory.allocator_options = read_allocator_options(json);
    json.at("planner").get_to(options.memory.planner);
    options.memory.policy = policy_of(json.at("policy").get<std::string>());
    json.at("warmup_steps").get_to(options.memory.warmup_steps);
    json.at("guard").get_to(options.memory.guard);
    json.at("check").get_to(options.memory.check);
    json.at("checkpoint_every").get_to(options.checkpoint_every);
    options.keep_best = json.value("keep_best", false);
  } catch (const std::exception& error) {
    throw CheckpointError(std::string("the checkpoint's arguments are not those of a training "
                                      "run: ") +
                          error.what());
  }
  return options;
}

TrainOptions merged_with_stored(const CLI::App& app, const TrainOptions& given,
                                const Json& stored) {
  Json merged = stored;
  TrainOptions wanted = given;
  resolve(wanted.data);
  resolve(wanted.translation);
  resolve(wanted.device, wanted.memory.device);
  const Json wanted_json = to_json(wanted);
  for (const auto& [key, value] : wanted_json.items()) {
    if (!was_given(app, flag_of(key)) || (stored.contains(key) && stored[key] == value)) continue;
    if (std::ranges::find(kNeutral, key) == std::end(kNeutral)) {
      const Json before = stored.value(key, Json(nullptr));
      throw UsageError(fmt::format("{} is {}, but the run to resume was started {}", flag_of(key),
                                   value.dump(),
                                   before.is_null() ? "without it" : "with " + before.dump()));
    }
    merged[key] = value;
  }
  return train_options_from(merged);
}

Context::Options context_options(const TrainOptions& options) {
  return {.compute = make_compute(options.memory.device, options.device),
          .in_place = options.in_place,
          .recompute = static_cast<int>(options.recompute),
          .fused_update = options.fused_update,
          .prefetch = options.device.prefetch,
          .seed = static_cast<std::uint64_t>(options.seed)};
}

MemoryOptions with_listener(MemoryOptions memory, SessionListener listener) {
  memory.listener = std::move(listener);
  return memory;
}

}  // namespace skyline
