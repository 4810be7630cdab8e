#include "train/images/trained_network.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "data/host.h"
#include "train/checkpoints/files.h"
#include "train/checkpoints/sha256.h"
#include "train/cli/option_list.h"
#include "train/decide/decide.h"
#include "train/decide/live_parts.h"
#include "train/run/use_threads.h"
#include "train/state/training_state.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kClasses = "classes";
constexpr const char* kInput = "input";
constexpr const char* kNormalisation = "normalisation";
constexpr const char* kImages = "images";  // numbers of training and test images
constexpr const char* kFiles = "files";

// Names and labels decide what a batch holds. Returns nothing for data other than image files.
std::optional<std::string> files_sha256(const ImageData& data) {
  if (data.collection == nullptr) return {};
  Sha256 sha256;
  for (const ImageFiles* split : {&data.collection->train, &data.collection->test}) {
    for (const ImageFiles::File& file : split->files) {
      const std::string line = fmt::format("{} {}\n", file.path, file.label);
      sha256.update(std::as_bytes(std::span(line)));
    }
  }
  return sha256.hex();
}

void check_classes(const ImageData& data, const TrainedData& trained, bool compare_names) {
  if (trained.class_names.empty()) return;
  const std::vector<std::string>& here = data.test->class_names();
  if (here.size() != trained.class_names.size()) {
    throw DataError(data.test->name(), "number of classes", std::to_string(here.size()),
                    std::to_string(trained.class_names.size()) + ", as in training");
  }
  for (std::size_t label = 0; compare_names && label < here.size(); ++label) {
    const std::string name = stored_class_name(here[label]);
    if (name == stored_class_name(trained.class_names[label])) continue;
    throw DataError(data.test->name(), "class " + std::to_string(label), name,
                    stored_class_name(trained.class_names[label]) + ", as in training");
  }
}

void check_images(const ImageData& data, const TrainedData& trained) {
  const auto require = [](const Dataset& split, const char* what, const auto& got,
                          const auto& expected) {
    if (!expected || *expected == got) return;
    throw DataError(split.name(), what, fmt::format("{}", got),
                    fmt::format("{}, as in training", *expected));
  };
  const auto text = [](const ImageShape& shape) {
    return fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width);
  };
  std::optional<std::string> input;
  if (trained.input) input = text(*trained.input);
  require(*data.test, "channels, height and width", text(data.test->image_shape()), input);
  require(*data.train, "training images", data.train->size(), trained.train_images);
  require(*data.test, "test images", data.test->size(), trained.test_images);
  if (const auto files = files_sha256(data)) {
    require(*data.train, "SHA-256 of the images' names and labels", *files, trained.files);
  }
}

std::set<std::string> names_in(Mode mode, const ModelEntry& entry, const ModelShape& shape) {
  MemoryOptions memory;
  memory.device = "simulated";
  memory.allocator = "best-fit-pool";
  const ImageRun run(memory, {.dry_run = Emulation(), .mode = mode},
                     {.model = std::string(entry.name), .shape = shape});
  std::set<std::string> names;
  for (const StoredWeight& weight : run.network().weights()) names.insert(weight.name);
  return names;
}

// Engines that a run measured on the CPU compute its network elsewhere, too; a card's are left to
// cuDNN, so that another card can take over.
void take_engines(TrainedNetwork& trained) {
  const std::filesystem::path engines = run_folder_of(trained.loaded) / kEnginesFile;
  if (trained.options.memory.device != "cpu" || !is_file(engines)) return;
  trained.options.device = {};
  trained.engines_file = engines.string();
}

// Says how inputs are made, for whoever uses the weights elsewhere.
Json input_facts(const ImageData& data, const DataOptions& options, const MeanImage* mean) {
  const ImageShape shape = data.test->image_shape();
  const Normalisations figures = data.normalisation.value_or(fixed_normalisation(options));
  const auto text = [&shape](auto figure) {
    std::string all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape.channels); ++i) {
      all += fmt::format("{}{}", i == 0 ? "" : ", ", figure(i));
    }
    return all;
  };
  std::string means = text([&](std::size_t i) { return figures[i].mean; });
  if (mean != nullptr && options.mean == "channel") {
    means = text([&](std::size_t i) { return mean->values[i] / 255; });
  } else if (mean != nullptr) {
    means = fmt::format(
        "the tensor 'mean' of the run's {} / 255, [{}, {}, 3] (rows, columns, "
        "channels), at the place of the crop",
        kMeanFile, mean->side, mean->side);
  }
  return {{"input", "(level / 255 - mean) / deviation, with levels from 0 to 255"},
          {"input.shape", fmt::format("{}, {}, {}", shape.channels, shape.height, shape.width)},
          {"input.channels", shape.channels == 1 ? "grey" : "red, green, blue"},
          {"input.mean", means},
          {"input.deviation", text([&](std::size_t i) { return figures[i].deviation; })}};
}

}  // namespace

std::string stored_class_name(const std::string& name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void store_data(const ImageData& data, const DataOptions& options, const MeanImage* mean,
                StoredJson& stored) {
  Json& facts = *stored;
  facts[kClasses] = data.test->class_names();
  const ImageShape shape = data.test->image_shape();
  facts[kInput] = {shape.channels, shape.height, shape.width};
  facts[kImages] = {data.train->size(), data.test->size()};
  if (const auto files = files_sha256(data)) facts[kFiles] = *files;
  facts[kWeightsMetadata] = input_facts(data, options, mean);
  if (!data.normalisation) return;
  for (const auto& [channel_mean, deviation] : *data.normalisation) {
    facts[kNormalisation]["mean"].push_back(channel_mean);
    facts[kNormalisation]["deviation"].push_back(deviation);
  }
}

TrainedData trained_data(const StoredJson& stored) {
  const Json& facts = *stored;
  TrainedData data;
  try {
    if (facts.contains(kClasses)) {
      data.class_names = facts[kClasses].get<std::vector<std::string>>();
    }
    if (facts.contains(kInput)) {
      const Json& input = facts[kInput];
      data.input = ImageShape{input.at(0), input.at(1), input.at(2)};
    }
    if (facts.contains(kNormalisation)) {
      const Json& normalisation = facts[kNormalisation];
      const auto figure = [&](const char* key, std::size_t channel) {
        const Json& value = normalisation.at(key);  // older runs have one number
        return (value.is_number() ? value : value.at(channel)).get<double>();
      };
      Normalisations& figures = data.normalisation.emplace();
      for (std::size_t i = 0; i < figures.size(); ++i) {
        figures[i] = {figure("mean", i), figure("deviation", i)};
      }
    }
    if (facts.contains(kImages)) {
      data.train_images = facts[kImages].at(0).get<std::size_t>();
      data.test_images = facts[kImages].at(1).get<std::size_t>();
    }
    if (facts.contains(kFiles)) data.files = facts[kFiles].get<std::string>();
  } catch (const Json::exception& error) {
    throw CheckpointError(
        std::string("the checkpoint's facts about its training data are damaged: ") + error.what());
  }
  return data;
}

void check_data(const ImageData& data, const TrainedData& trained, DataMatch match) {
  check_classes(data, trained, match != DataMatch::kClassNumber);
  if (match == DataMatch::kAll) check_images(data, trained);
}

std::set<std::string> auxiliary_names(const ModelEntry& entry, const ModelShape& shape) {
  std::set<std::string> names = names_in(Mode::kTraining, entry, shape);
  for (const std::string& name : names_in(Mode::kInference, entry, shape)) names.erase(name);
  return names;
}

void add_checkpoint_arguments(OptionList& list, const char* name, CheckpointArguments& arguments) {
  list.add(name, path(arguments.checkpoint, "DIR"),
           "A run folder (its last good checkpoint) or a checkpoint's folder", kRequired);
  list.add("--batch-size", integer(arguments.batch_size, 0, kMany),
           "Images, sentences or windows per step (0: as in the run)");
  list.add("--threads", integer(arguments.threads, 0, kMostThreads), "Threads (0: as in the run)");
  add_device_option(list, arguments.device, "Device to compute on (default: the run's)");
}

Rows<TrainedNetwork> rows(const TrainedNetwork*) {
  return {{"model", "the network", [](auto& trained) { return trained.options.model; }},
          {"checkpoint", "its folder", [](auto& trained) { return trained.loaded.path.string(); }},
          {"step", kNumber, "after which it was saved",
           [](auto& trained) { return trained.position().step; }}};
}

TrainedNetwork load_network(const CheckpointArguments& arguments, unsigned tasks,
                            Console& console) {
  TrainedNetwork trained{.loaded = load_checkpoint(arguments.checkpoint),
                         .options = {},
                         .data = {},
                         .engines_file = {}};
  for (const std::string& warning : trained.loaded.warnings) console.warn(warning);
  trained.options = train_options_from(*trained.position().arguments);
  const Task& task = task_of(trained.options.model);
  if ((task.trait & tasks) == 0) {
    throw UsageError(
        fmt::format("the checkpoint's model, {}, {}", trained.options.model, task.use));
  }
  trained.data = trained_data(trained.position().data);
  if (arguments.batch_size > 0) trained.options.batch_size = arguments.batch_size;
  if (arguments.threads > 0) trained.options.threads = arguments.threads;
  warn_of_threads(trained.options.threads, console);
  take_engines(trained);
  move_to(trained.options, arguments.device);
  return trained;
}

EvaluationBatches evaluation_batches(const TrainOptions& options) {
  return {.batch_size = static_cast<std::size_t>(options.batch_size),
          .decode_threads = static_cast<std::size_t>(options.data.decode_threads)};
}

Context::Options inference_context(const TrainedNetwork& trained) {
  const TrainOptions& options = trained.options;
  const StepDecisions said = as_said(options);
  use_threads(said.threads);
  const std::string& device = options.memory.device;
  const LiveParts live{.engines =
                           read_engines(options.device, device,
                                        device == "cpu" ? trained.engines_file : std::string())};
  return context_options(options, said, live, Mode::kInference);
}

std::unique_ptr<ImageRun> inference_run(const TrainedNetwork& trained, const ModelShape& shape) {
  const std::string& model = trained.options.model;
  auto run = std::make_unique<ImageRun>(trained.options.memory, inference_context(trained),
                                        ImageRunOptions{.model = model, .shape = shape});
  restore_weights(*run, trained.loaded.checkpoint, auxiliary_names(find_model(model), shape));
  return run;
}

}  // namespace skyline
