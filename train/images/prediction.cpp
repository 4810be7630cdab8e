#include "train/images/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/host.h"
#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "framework/philox.h"
#include "train/cli/table.h"
#include "train/data_results.h"
#include "train/images/image_data.h"
#include "train/images/image_step.h"

namespace skyline {
namespace {

using Collection = std::shared_ptr<const ImageCollection>;

ImageShape input_of(const TrainedNetwork& trained) {
  if (trained.data.input) return *trained.data.input;
  throw CheckpointError(trained.loaded.path.string() +
                        ": the checkpoint does not say what its network's input looks like");
}

// The images to predict, and what is found about them while they are read.
struct ImagesToPredict {
  Collection collection;
  std::shared_ptr<BadImages> bad = std::make_shared<BadImages>();
  std::shared_ptr<BadImages> scaled = std::make_shared<BadImages>();
};

// Reads images as the run's test images were read.
std::unique_ptr<Dataset> open_images(const TrainedNetwork& trained, const ImagesToPredict& images) {
  const ImageShape input = input_of(trained);
  if (const auto& normalisation = trained.data.normalisation) {
    return std::make_unique<ScaledImages>(images.collection, input, *normalisation, images.bad,
                                          images.scaled);
  }
  const DataOptions& options = trained.options.data;
  auto dataset = std::make_unique<ImageDataset>(
      images.collection, Split::kTest, pipeline_of(options, input.height), BadImagePolicy::kSkip,
      Philox{options.seed}, images.bad);
  if (options.has_mean_image()) dataset->set_mean(stored_mean(run_folder_of(trained.loaded)));
  return dataset;
}

ModelShape shape_of(const TrainedNetwork& trained) {
  const ImageShape input = input_of(trained);
  const auto named = static_cast<std::int64_t>(trained.data.class_names.size());
  return {input.channels, input.height, input.width,
          static_cast<int>(trained.options.data.classes.value_or(named))};
}

std::vector<std::size_t> ascending_labels(std::size_t classes) {
  std::vector<std::size_t> labels(classes);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  return labels;
}

std::string class_name(const TrainedData& data, std::size_t label) {
  return label < data.class_names.size() ? data.class_names[label] : std::to_string(label);
}

// The rows of one image: its name stands in the first.
void add_rows(Table& table, const PredictedImage& image) {
  std::string name = printable(image.path);
  for (const Guess& guess : image.guesses) {
    table.add_row({std::exchange(name, " "), printable(guess.class_name),
                   fmt::format("{:.2f} %", 100 * guess.probability)});
  }
}

}  // namespace

std::vector<Guess> top_guesses(std::span<const float> logits, std::size_t most) {
  if (std::ranges::any_of(logits, [](float logit) { return !std::isfinite(logit); })) return {};
  std::vector<std::size_t> labels = ascending_labels(logits.size());
  std::ranges::stable_sort(labels, std::greater(),
                           [logits](std::size_t label) { return logits[label]; });
  const double largest = logits[labels.front()];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < std::min(most, labels.size()); ++i) {
    guesses.push_back({labels[i], std::exp(logits[labels[i]] - largest) / sum});
  }
  return guesses;
}

Predictions predict(const TrainedNetwork& trained, const std::vector<std::filesystem::path>& files,
                    std::size_t most_guesses) {
  const ImagesToPredict images{std::make_shared<const ImageCollection>(
      ImageCollection{.name = "images",
                      .class_names = trained.data.class_names,
                      .train = {},
                      .test = image_files_below(files),
                      .warnings = {}})};
  Predictions predictions{.images = {}, .bad = {}, .scaled = {}, .input = input_of(trained)};
  const auto visit = [&](std::size_t index, std::span<const float> logits, std::int32_t label) {
    if (label == kNotCounted) return;
    const std::string path = images.collection->test.path(index);
    std::vector<Guess> guesses = top_guesses(logits, most_guesses);
    if (guesses.empty()) return images.bad->add(path, "gives outputs that are no numbers");
    for (Guess& guess : guesses) guess.class_name = class_name(trained.data, guess.label);
    predictions.images.push_back({path, std::move(guesses)});
  };
  const std::unique_ptr<Dataset> dataset = open_images(trained, images);
  const std::unique_ptr<ImageRun> run = inference_run(trained, shape_of(trained));
  for_each_image(run->context, *run->model, *dataset, evaluation_batches(trained.options), visit);
  predictions.bad = images.bad->all();
  predictions.scaled = images.scaled->all();
  return predictions;
}

std::string predictions_text(const Predictions& predictions) {
  if (predictions.images.empty()) return {};
  Table table("<image | <class | probability");
  for (const PredictedImage& image : predictions.images) add_rows(table, image);
  return table.str();
}

Rows<Guess> rows(const Guess*) {
  return {{"class", "its name", &Guess::class_name},
          {"label", kNumber, "its number", &Guess::label},
          {"probability", kShare, "by the network", &Guess::probability}};
}

Rows<PredictedImage> rows(const PredictedImage*) {
  Rows<PredictedImage> rows;
  add_path_rows(rows);
  rows.emplace_back("predictions", "the likeliest classes", &PredictedImage::guesses);
  return rows;
}

Rows<Predictions> rows(const Predictions*) {
  return {{"images", "those that could be read", &Predictions::images},
          {"scaled", "images of another size than in training", &Predictions::scaled},
          {"bad_images", "files that could not be used", &Predictions::bad}};
}

}  // namespace skyline
