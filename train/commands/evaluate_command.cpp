#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "data/errors.h"
#include "models/models.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/training_state.h"
#include "train/cli/json_text.h"
#include "train/commands/commands.h"
#include "train/images/auxiliary_names.h"
#include "train/images/bad_images_report.h"
#include "train/images/image_data.h"
#include "train/images/image_evaluation.h"
#include "train/images/image_run.h"
#include "train/images/mean_file.h"
#include "train/options/train_options.h"
#include "train/run/process_summary.h"
#include "train/run/use_threads.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateArguments {
  std::filesystem::path checkpoint;
  DataOptions data;
  std::int64_t batch_size = 0;  // 0: the run's
  std::int64_t threads = 0;     // 0: the run's
  std::string device;           // empty: the run's
};

// The run's options, overridden by those of this command.
TrainOptions merged(const OptionList& list, const EvaluateArguments& arguments,
                    const Json& stored) {
  TrainOptions options = train_options_from(stored);
  if (translates(options)) {
    throw UsageError("the checkpoint's model, " + options.model +
                     ", translates: use skyline translate");
  }
  const auto given = [&list](const char* flag) { return list.given(flag); };
  if (given("--data") || given("--train-list") || given("--val-list")) {
    options.data.data = arguments.data.data;
    options.data.train_list = arguments.data.train_list;
    options.data.val_list = arguments.data.val_list;
    options.data.root = arguments.data.root;
  }
  if (given("--root")) options.data.root = arguments.data.root;
  options.data.decode_threads = arguments.data.decode_threads;
  options.data.strict = arguments.data.strict;
  if (arguments.batch_size > 0) options.batch_size = arguments.batch_size;
  if (arguments.threads > 0) options.threads = arguments.threads;
  move_to(options, arguments.device);
  return resolved(options);
}

// Returns class names as a checkpoint stores them, in UTF-8.
std::string stored_text(const Json& names) {
  return names.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Labels are comparable only if the classes are those of the training.
void check_classes(const Dataset& dataset, const TrainingPosition& position) {
  if (!position.more->contains("classes")) return;
  const Json& trained = (*position.more)["classes"];
  const Json here = dataset.class_names();
  if (stored_text(here) == stored_text(trained)) return;
  if (here.size() != trained.size()) {
    throw DataError(dataset.name(), "number of classes", std::to_string(here.size()),
                    std::to_string(trained.size()) + ", as in training");
  }
  std::size_t label = 0;
  while (stored_text(here[label]) == stored_text(trained[label])) ++label;
  throw DataError(dataset.name(), "class " + std::to_string(label), stored_text(here[label]),
                  stored_text(trained[label]) + ", as in training");
}

// Uses the run's mean, or computes that of the training images.
void give_mean(const ImageData& data, const DataOptions& options, const std::filesystem::path& run,
               Console& console) {
  if (data.test_images == nullptr || options.mean == "none") return;
  std::shared_ptr<const MeanImage> mean = read_mean(run);
  if (mean == nullptr && data.train_images == nullptr) {
    throw DataError(run.string(), std::string(kMeanFile) +
                                      " is missing, and there are no training images to compute "
                                      "the mean of");
  }
  set_mean(data, mean != nullptr ? mean : compute_mean(data, options, console));
}

Json to_json(const Accuracy& accuracy, int classes) {
  return {{"images", accuracy.total},
          {"top1", accuracy.top1()},
          {"top5", classes > kTopGuesses ? Json(accuracy.top5()) : Json(nullptr)},
          {"loss", accuracy.mean_loss()}};
}

std::string to_text(const Accuracy& accuracy, int classes) {
  std::string text = fmt::format("top-1 {:.2f} %", 100 * accuracy.top1());
  if (classes > kTopGuesses) text += fmt::format(", top-5 {:.2f} %", 100 * accuracy.top5());
  return text + fmt::format(", loss {:.4f} on {} images", accuracy.mean_loss(), accuracy.total);
}

// Lists reveal their number of classes only by the largest label, so the run's number is safer.
void adopt_classes(DataOptions& data, const TrainingPosition& position) {
  if (!data.has_lists() || data.classes || !position.more->contains("classes")) return;
  data.classes = static_cast<std::int64_t>((*position.more)["classes"].size());
}

CommandResult run(const OptionList& list, const EvaluateArguments& arguments, Console& console) {
  const LoadedCheckpoint loaded = load_checkpoint(arguments.checkpoint);
  for (const std::string& warning : loaded.warnings) console.warn(warning);
  const TrainingPosition& position = loaded.checkpoint.position;
  TrainOptions options = merged(list, arguments, *position.arguments);
  adopt_classes(options.data, position);
  const ModelEntry& entry = find_model(options.model);
  const ImageData data = open_image_data(options.data, entry.shape, false);
  for (const std::string& warning : data.warnings) console.warn(warning);
  check_classes(*data.test, position);
  give_mean(data, options.data, run_folder_of(loaded), console);

  use_threads(options.threads);
  Context::Options context = context_options(options);
  context.mode = Mode::kInference;
  ImageRun run(options.memory, context, {.model = options.model, .shape = data.shape()});
  restore_weights(run, loaded.checkpoint, auxiliary_names(entry, data.shape()));
  const auto started = std::chrono::steady_clock::now();
  const Accuracy accuracy =
      evaluate(run.context, *run.model, *data.test, static_cast<std::size_t>(options.batch_size),
               static_cast<std::size_t>(options.data.decode_threads));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  const ModelRun* const runs[] = {&run};
  Json json = {{"model", options.model},
               {"data", data.test->name()},
               {"checkpoint", loaded.path.string()},
               {"step", position.step}};
  json.update(to_json(accuracy, data.classes));
  json["seconds"] = seconds.count();
  json["process"] = to_json(process_summary(runs, 0));
  json["bad_images"] = bad_images_json(data);
  return {.json = json_text(json),
          .text = bad_images_text(data) + fmt::format("{} after step {} on {}: {}\n", options.model,
                                                      position.step, data.test->name(),
                                                      to_text(accuracy, data.classes))};
}

}  // namespace

CommandRun declare_evaluate(OptionList& list) {
  const auto arguments = std::make_shared<EvaluateArguments>();
  list.add("CHECKPOINT", path(arguments->checkpoint, "DIR"),
           "A run folder (its last good checkpoint) or a checkpoint's folder", kRequired);
  add_image_sources(list, arguments->data);
  list.add("--batch-size", integer(arguments->batch_size, 0, 1'000'000'000),
           "Images per step (0: as in the run)");
  list.add("--threads", integer(arguments->threads, 0, 4096), "Threads (0: as in the run)");
  add_device_option(list, arguments->device, "Device to compute on (default: the run's)");
  add_decoding_options(list, arguments->data);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
