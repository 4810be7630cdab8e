#include "train/options/train_options.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "framework/ranks/rank_transport.h"
#include "models/gpt.h"
#include "models/models.h"
#include "models/seq2seq.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/option_list.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr Task kImageTask{.trait = kImagesOnly,
                          .does = "read images",
                          .use = "classifies images: use skyline evaluate",
                          .items = "images",
                          .generator = "shapes",
                          .policy = ShapePolicy::kPerShape,
                          .optimizer = "sgd"};
constexpr Task kTranslationTask{.trait = kTranslationOnly,
                                .does = "translate",
                                .use = "translates: use skyline translate",
                                .items = "sentences",
                                .generator = "numbers",
                                .policy = ShapePolicy::kUpperBound,
                                .optimizer = "adam"};
constexpr Task kGptTask{.trait = kGptOnly,
                        .does = "go on with a text",
                        .use = "goes on with a text: use skyline generate",
                        .items = "windows",
                        .generator = "sums",
                        .policy = ShapePolicy::kPerShape,
                        .optimizer = "adamw"};

TrainingDefaults defaults_of(const std::string& model) {
  if (const GptEntry* const gpt = find_gpt(model)) return gpt->training;
  // The rate of Adam (Kingma and Ba 2015); Sutskever et al. 2014, section 3.4.
  if (translates(model)) return {.learning_rate = 1e-3, .clip = 5};
  // Through the decimal text, so that 0.1f is stored as 0.1.
  return {.learning_rate = std::stod(fmt::format("{}", find_model(model).learning_rate))};
}

void add_optimization_options(OptionList& list, TrainOptions& options) {
  list.add("--batch-size", integer(options.batch_size, 1, kMany),
           "Images, sentences or windows of a batch");
  list.add("--lr,--learning-rate", number(options.learning_rate, 0, 1e6),
           "Learning rate (0: the model's default)", kMayChange);
  list.add("--optimizer", choice(options.optimizer, optimizer_names(), "optimizer"),
           "Optimizer (default: sgd for images, adam for seq2seq, adamw for gpts)", kMayBeAbsent);
  list.add("--momentum", number(options.momentum, 0, 1),
           "SGD momentum: v = momentum * v - lr * (g + decay * w), w = w + v", kMayChange);
  list.add(
      "--weight-decay", number(options.weight_decay, 0, 1e6),
      "SGD weight decay: L2, on every parameter unless --decay-weights-only is given (default: "
      "1e-4). AdamW: apart from the gradient, on matrices only (default: the model's)",
      kMayChange);
  list.add(
      "--beta2", number(options.beta2, 0, 1),
      "Adam and AdamW: how much of the mean of squares stays from step to step (default: 0.999; "
      "gpt-small 0.99)",
      kMayChange | kMayBeAbsent);
  list.add("--decay-weights-only", flag(options.decay_weights_only),
           "Only matrices and kernels decay: no bias, and no scale or shift of a normalization",
           kMayChange | kMayBeAbsent);
  list.add("--schedule", choice(options.schedule, schedule_names(), "schedule"),
           "How the learning rate falls over the run. cosine: from step to step, to "
           "--least-learning-rate; step: to a tenth at half of the run and to a hundredth at three "
           "quarters; milestones: at --milestones; constant: never",
           kMayChange)
      .needs({"--milestones"}, "--schedule milestones needs --milestones, such as 30,60",
             kMilestones);
  list.add(
      "--least-lr,--least-learning-rate", number(options.least_learning_rate, 0, 1e6),
      "The rate at which the cosine ends (default: 0; gpt-small: a tenth of the rate, gpt2: the "
      "rate)",
      kMayChange | kMayBeAbsent);
  list.add("--milestones", ascending(options.milestones, 1, kMany),
           "With --schedule milestones: multiply the learning rate by --gamma after each of these "
           "epochs",
           kMayChange | kMayBeAbsent);
  list.add("--gamma", number(options.gamma, 0, 1), "With --milestones: the factor",
           kMayChange | kMayBeAbsent);
  list.add("--warmup-epochs,--lr-warmup-epochs", number(options.lr_warmup_epochs, 0, kMany),
           "Raise the learning rate step by step over so many epochs at the start, such as 0.5 or "
           "5, from its first part to all of it (--warmup-steps is of memory, not of this)",
           kMayChange | kMayBeAbsent);
  list.add("--lr-warmup-steps", integer(options.lr_warmup_steps, 0, kMany),
           "The same in steps (default: 0; gpt-small 100)", kMayChange | kMayBeAbsent)
      .excludes("--lr-warmup-epochs");
  list.add("--label-smoothing", number(options.label_smoothing, 0, 0.99),
           "Share of each label that is spread over all classes; evaluations are not smoothed",
           kImagesOnly | kMayChange | kMayBeAbsent);
  list.add("--class-weights", text(options.class_weights, "balanced|X,X,…"),
           "How much images of each class count in the training loss: a number a class, in the "
           "order of classes, or balanced, in inverse proportion to their images",
           kImagesOnly | kMayChange | kMayBeAbsent);
  list.add("--seed", integer(options.seed, 0, std::numeric_limits<std::int64_t>::max()),
           "Seed of parameters, sample order and generated samples");
}

// Makes file names absolute, as stored runs keep them.
TrainOptions with_whole_paths(TrainOptions options) {
  make_absolute(options.init_weights);
  options.data = resolved(options.data);
  options.text = resolved(options.text);
  options.device = resolved(options.device, options.memory.device);
  return options;
}

// Fused updates run before the norm of all gradients is known, so they cannot clip.
void resolve_clip(TrainOptions& options) {
  std::optional<double>& clip = options.text.clip;
  if (options.step.fused_update && clip.value_or(0) > 0) {
    throw UsageError(
        "--fused-update updates each parameter before the norm of all gradients is known: give "
        "--clip 0");
  }
  if (&task_of(options.model) == &kImageTask || clip) return;
  clip = options.step.fused_update ? 0 : defaults_of(options.model).clip;
}

void resolve_rates(TrainOptions& options) {
  const TrainingDefaults defaults = defaults_of(options.model);
  if (options.learning_rate <= 0) options.learning_rate = defaults.learning_rate;
  if (options.lr_warmup_epochs == 0 && !options.lr_warmup_steps && defaults.warmup_steps > 0) {
    options.lr_warmup_steps = defaults.warmup_steps;
  }
  if (!options.least_learning_rate) {
    const double share = defaults.least_rate / defaults.learning_rate;
    options.least_learning_rate = share * options.learning_rate;
  }
  if (!options.weight_decay) options.weight_decay = defaults.weight_decay;
  if (!options.beta2) options.beta2 = defaults.beta2;
}

// A step within a budget is planned before it runs, on a device that has no more bytes.
void resolve_budget(TrainOptions& options) {
  if (!options.step.memory_bytes) return;
  const std::uint64_t bytes = *options.step.memory_bytes;
  options.memory.policy = ShapePolicy::kUpperBound;
  options.memory.capacity_bytes = std::min(options.memory.capacity_bytes.value_or(bytes), bytes);
}

}  // namespace

void check_rules(const TrainOptions& options) {
  TrainOptions held;  // whose rows know the defaults
  OptionList list;
  add_run_options(list, held);
  held = options;
  list.check_rules();
  if (options.ranks.ranks == 1) return;
  const bool on_cuda = options.memory.device == "cuda";
  if (on_cuda && options.device.engines_file == kMeasuredEngines) {
    throw UsageError(
        "--ranks and --engines measured exclude each other on CUDA, where each card might choose "
        "others");
  }
  // Ranks whose sentences differ in length would begin sums in other sequences.
  if ((on_cuda || options.ranks.fast_sum) && translates(options) && options.text.unroll) {
    throw UsageError(on_cuda ? "--ranks on CUDA needs steps with the same ops: leave out --unroll"
                             : "--fast-sum needs steps with the same ops: leave out --unroll");
  }
}

void add_training_options(OptionList& list, TrainOptions& options) {
  list.add("--model", choice(options.model, model_names(), "model"),
           "What to train; seq2seq reads text: --data numbers, --data FILE with tabs, or --source "
           "and --target; gpts: --data sums, --data FILE, or --tokens");
  add_data_options(list, options.data);
  add_text_options(list, options.text);
  add_optimization_options(list, options);
  add_device_option(list, options.memory.device, "Device to compute on, and to plan memory for");
  add_device_options(list, options.device);
  list.find("--workspace")->needs({"--device cuda"});
  add_core_options(list, options.threads, options.device);
  add_step_options(list, options.step);
  add_budget_options(list, options.step);
  list.add("--guard", flag(options.memory.guard), "Put guard bytes and poison around every block",
           kNeutral);
  list.add("--check", flag(options.memory.check), "Compare every new block with all live blocks",
           kNeutral);
}

void add_run_options(OptionList& list, TrainOptions& options) {
  add_training_options(list, options);
  list.add("--init-weights", text(options.init_weights, "FILE"),
           "Begin with the weights of a .safetensors file with PyTorch's names, or of a run or "
           "checkpoint; what does not fit is named and keeps random values",
           kMayBeAbsent);
  list.add("--epochs", integer(options.epochs, 1, kMany), "Passes over the training data",
           kMayChange);
  list.add("--steps", integer(options.steps, 1, kMany), "Steps to run, instead of --epochs",
           kMayChange);
  list.add("--print-freq,--print-every", integer(options.print_every, 1, kMany),
           "Steps between lines of progress (default: 1, 2, 4, … 30 seconds)",
           kNeutral | kMayBeAbsent);
  list.add("--verbose", flag(options.verbose),
           "Print the table of the process at the end, too: what the system counts",
           kNeutral | kMayBeAbsent);
  list.add("--inference-loss-every", integer(options.inference_loss_every, 0, kMany),
           "Every N steps, compute the loss of the step's batch in inference mode, too (0: never). "
           "The step is interrupted for it, so its plan stays (PGMO, section 4.3)",
           kNeutral | kMayBeAbsent);
  list.add("--translate-every,--evaluate-every", integer(options.evaluate_every, 0, kMany),
           "Steps between evaluations, besides those after each epoch (0: none)",
           kNeutral | kMayBeAbsent);
  list.add("--allocator", choice(options.memory.allocator, training_allocator_names(), "allocator"),
           "Allocator of the step's memory", kNeutral);
  add_memory_options(list, options.memory);
  list.add("--checkpoint-every", integer(options.checkpoint_every, 0, kMany),
           "Steps between checkpoints, besides those after each epoch (0: none)", kNeutral);
  list.add("--keep-best", flag(options.keep_best),
           "Keep the checkpoint of the best evaluation in the run folder's 'best'",
           kNeutral | kMayBeAbsent);
  list.add("--patience", integer(options.patience, 1, kMany),
           "End the run after N evaluations without a better top-1 (text: a lower loss)",
           kMayChange | kMayBeAbsent);
  list.add("--ranks", integer(options.ranks.ranks, 1, kMostRanks),
           "Processes on this machine that train together, started by mpirun; each reads "
           "--micro-batches of a step, and an epoch leaves out the batches that do not fill a step",
           kNeutral | kMayBeAbsent)
      .excludes("--graph",
                "--ranks and --graph exclude each other: a graph holds no sums of ranks");
  add_sum_options(list, options.ranks);
  add_link_options(list, options.ranks.link);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names = names_of(models());
  names.emplace_back(kSeq2Seq);
  for (const GptEntry& gpt : gpts()) names.emplace_back(gpt.name);
  return names;
}

const Task& task_of(std::string_view model) {
  if (model == kSeq2Seq) return kTranslationTask;
  return find_gpt(model) != nullptr ? kGptTask : kImageTask;
}

bool translates(const std::string& model) { return model == kSeq2Seq; }

bool translates(const TrainOptions& options) { return translates(options.model); }

void check_given(const OptionList& list, const std::string& model) {
  for (const Option& option : list.options()) {
    std::vector<std::string_view> those;
    bool is_own = false;
    for (const Task* const task : {&kImageTask, &kTranslationTask, &kGptTask}) {
      if ((option.traits & task->trait) == 0) continue;
      those.push_back(task->does);
      is_own = is_own || task == &task_of(model);
    }
    if (!option.given || those.empty() || is_own) continue;
    throw UsageError(fmt::format("{} is for models that {}, got --model {}", option.name(),
                                 fmt::join(those, " or "), model));
  }
}

void check_used(const OptionList& list, const TrainOptions& options) {
  const bool generated = !options.data.has_lists() && options.data.data == DataOptions{}.data;
  const bool numbers =
      options.text.source.empty() && options.data.data == kTranslationTask.generator;
  const bool tokens = !options.text.tokens.empty();
  struct Use {
    std::string_view option;
    bool used;
    std::string_view what;
  };
  const bool sgd = options.optimizer == "sgd", by_milestones = options.schedule == kMilestones;
  for (const auto& [option, used, what] :
       {Use{"--momentum", sgd, "--optimizer sgd"},
        Use{"--weight-decay", options.optimizer != "adam", "--optimizer sgd or adamw"},
        Use{"--beta2", !sgd, "--optimizer adam or adamw"},
        Use{"--least-learning-rate", options.schedule == "cosine", "--schedule cosine"},
        Use{"--vocab-size", translates(options) || tokens, "--tokens"},
        Use{"--characters", !tokens && options.data.data == kGptTask.generator, "--data sums"},
        Use{"--decay-weights-only", sgd && options.weight_decay > 0.0,
            "--optimizer sgd with a --weight-decay"},
        Use{"--milestones", by_milestones, "--schedule milestones"},
        Use{"--gamma", by_milestones, "--schedule milestones"},
        Use{"--images", generated, "--data shapes"}, Use{"--resize", !generated, "image files"},
        Use{"--mean", !generated, "image files"}, Use{"--deviation", !generated, "image files"},
        Use{"--no-mirror", !generated, "image files"},
        Use{"--val-split", !generated, "image files"}, Use{"--strict", !generated, "image files"},
        Use{"--pairs", numbers, "--data numbers"}}) {
    if (used || !list.given(option)) continue;
    throw UsageError(fmt::format("{} is for {} and would do nothing here", option, what));
  }
}

void move_to(TrainOptions& options, const std::string& device) {
  if (device.empty() || device == options.memory.device) return;
  options.memory = {.device = device};
  options.device = {};
}

std::int64_t threads_for(const std::string& model, std::int64_t threads, std::int64_t at_once) {
  if (threads == 0 && &task_of(model) == &kImageTask) threads = find_model(model).threads;
  return threads == 0 ? std::max<std::int64_t>(omp_get_num_procs() / at_once, 1) : threads;
}

TrainOptions resolved(TrainOptions options) {
  check_rules(options);
  const Task& task = task_of(options.model);
  resolve_rates(options);
  if (options.optimizer.empty()) options.optimizer = task.optimizer;
  resolve_clip(options);
  resolve_budget(options);
  if (!options.memory.policy) options.memory.policy = task.policy;
  options.memory.allocator = canonical_allocator_name(options.memory.allocator);
  const bool has_data =
      options.data.data != DataOptions{}.data && options.data.data != task.generator;
  if (!has_data) options.data.data = task.generator;
  if (!options.text.tokens.empty() && has_data) {
    throw UsageError("--data and --tokens exclude each other: give one of them");
  }
  if (!options.text.source.empty() && has_data) {
    throw UsageError("--data and --source exclude each other: give one of them");
  }
  options.step.frozen = frozen_parameters(options);
  options = with_whole_paths(std::move(options));
  check_device_of(options.memory.allocator, options.memory.device);
  options.data.seed = static_cast<std::uint64_t>(options.seed);
  return options;
}

Json to_json(TrainOptions options) {
  OptionList list;
  add_run_options(list, options);
  Json json;
  list.write(json);
  return json;
}

TrainOptions train_options_from(const Json& json) {
  TrainOptions options;
  OptionList list;
  add_run_options(list, options);
  try {
    list.read(json);
  } catch (const std::exception& error) {
    throw CheckpointError(
        std::string("the checkpoint's arguments are not those of a training run: ") + error.what());
  }
  return options;
}

ResumedOptions merged_with_stored(const OptionList& list, const TrainOptions& given,
                                  const Json& stored) {
  Json merged = stored;
  std::vector<std::string> changes;
  const Json values = to_json(with_whole_paths(given));
  for (const Option& option : list.options()) {
    const std::string key = option.key();
    if (!option.given || !values.contains(key)) continue;
    const Json& value = values[key];
    const Json before = stored.value(key, Json(nullptr));
    merged[key] = value;
    if ((option.traits & kNeutral) != 0 || value == before) continue;
    if ((option.traits & kMayChange) == 0) {
      throw UsageError(fmt::format("{} is {}, but the run to resume was started {}", option.name(),
                                   value.dump(),
                                   before.is_null() ? "without it" : "with " + before.dump()));
    }
    changes.push_back(fmt::format("{} {} ({})", option.name(), value.dump(),
                                  before.is_null() ? "new" : "was " + before.dump()));
  }
  if (list.given("--epochs") && !list.given("--steps")) merged["steps"] = nullptr;
  // A budget is stored as its device's capacity, too, which would hold a larger one down.
  const bool is_of_budget =
      stored.value("memory", Json(nullptr)) == stored.value("capacity", Json(nullptr));
  if (is_of_budget && !list.given("--capacity")) merged["capacity"] = nullptr;
  return {train_options_from(merged), std::move(changes)};
}

std::int64_t step_batches(const TrainOptions& options) {
  return options.step.micro_batches * options.ranks.ranks;
}

OptimizerOptions optimizer_options(const TrainOptions& options) {
  const TrainingDefaults defaults = defaults_of(options.model);
  return {.name = options.optimizer,
          .momentum = static_cast<float>(options.momentum),
          .weight_decay = static_cast<float>(options.weight_decay.value_or(defaults.weight_decay)),
          .decay_weights_only = options.decay_weights_only,
          .beta2 = static_cast<float>(options.beta2.value_or(defaults.beta2)),
          .clip = static_cast<float>(options.text.clip.value_or(defaults.clip))};
}

LearningRate learning_rate(const TrainOptions& options, std::int64_t total_steps,
                           std::int64_t epoch_steps) {
  LearningRate rate{.base = options.learning_rate,
                    .schedule = options.schedule,
                    .total_steps = total_steps,
                    .warmup_steps = options.lr_warmup_steps.value_or(
                        std::llround(options.lr_warmup_epochs * static_cast<double>(epoch_steps))),
                    .milestones = options.milestones,
                    .gamma = options.gamma,
                    .least = options.least_learning_rate.value_or(0)};
  for (std::int64_t& milestone : rate.milestones) milestone *= epoch_steps;
  return rate;
}

}  // namespace skyline
