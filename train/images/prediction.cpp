#include "train/images/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/images/image_folder.h"
#include "data/images/scaled_images.h"
#include "data/printable.h"
#include "train/cli/table.h"
#include "train/images/bad_images_report.h"
#include "train/images/image_evaluation.h"
#include "train/images/mean_file.h"
#include "train/run/random_bits.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;
using Collection = std::shared_ptr<const ImageCollection>;

ImageShape input_of(const TrainedNetwork& trained) {
  if (trained.data.input) return *trained.data.input;
  throw CheckpointError(trained.loaded.path.string() +
                        ": the checkpoint does not say what its network's input looks like");
}

// Reads image files as the run's validation images were read.
std::unique_ptr<Dataset> cropped_images(const TrainedNetwork& trained, const Collection& collection,
                                        const std::shared_ptr<BadImages>& bad) {
  const DataOptions& options = trained.options.data;
  auto images = std::make_unique<ImageDataset>(
      collection, Split::kTest, pipeline_of(options, input_of(trained).height),
      BadImagePolicy::kSkip, random_bits(options.seed), bad);
  if (options.mean == "none") return images;
  images->set_mean(stored_mean(run_folder_of(trained.loaded)));
  return images;
}

std::vector<std::size_t> ascending_labels(std::size_t classes) {
  std::vector<std::size_t> labels(classes);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  return labels;
}

// The rows of one image: its name stands in the first.
void add_rows(Table& table, const PredictedImage& image, const TrainedData& data) {
  std::string name = image.path;
  for (const Guess& guess : image.guesses) {
    table.add_row({std::exchange(name, ""), printable(class_name(data, guess.label)),
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

Predictions predict(const TrainedNetwork& trained, const std::vector<std::filesystem::path>& images,
                    std::size_t most_guesses) {
  const auto collection = std::make_shared<const ImageCollection>(
      ImageCollection{.name = "images",
                      .class_names = trained.data.class_names,
                      .train = {},
                      .test = image_files_below(images),
                      .warnings = {}});
  const auto bad = std::make_shared<BadImages>(), scaled = std::make_shared<BadImages>();
  Predictions predictions{.images = {}, .bad = {}, .scaled = {}, .input = input_of(trained)};
  const ImageShape& input = predictions.input;
  const std::unique_ptr<Dataset> dataset =
      trained.data.normalisation ? std::make_unique<ScaledImages>(
                                       collection, input, *trained.data.normalisation, bad, scaled)
                                 : cropped_images(trained, collection, bad);
  const TrainOptions& options = trained.options;
  const std::int64_t classes =
      options.data.classes.value_or(static_cast<std::int64_t>(trained.data.class_names.size()));
  const auto run = inference_run(
      trained, {input.channels, input.height, input.width, static_cast<int>(classes)});
  for_each_image(run->context, *run->model, *dataset,
                 {.batch_size = static_cast<std::size_t>(options.batch_size),
                  .decode_threads = static_cast<std::size_t>(options.data.decode_threads)},
                 [&](std::size_t index, std::span<const float> logits, std::int32_t label) {
                   if (label == kNotCounted) return;
                   const std::string path = collection->test.path(index);
                   std::vector<Guess> guesses = top_guesses(logits, most_guesses);
                   if (guesses.empty()) return bad->add(path, "gives outputs that are no numbers");
                   predictions.images.push_back({printable(path), std::move(guesses)});
                 });
  predictions.bad = bad->all();
  predictions.scaled = scaled->all();
  return predictions;
}

std::string class_name(const TrainedData& data, std::size_t label) {
  return label < data.class_names.size() ? data.class_names[label] : std::to_string(label);
}

std::string predictions_text(const Predictions& predictions, const TrainedData& data) {
  if (predictions.images.empty()) return {};
  Table table({{"image", Align::kLeft}, {"class", Align::kLeft}, {"probability"}});
  for (const PredictedImage& image : predictions.images) add_rows(table, image, data);
  return table.str();
}

Json predictions_json(const Predictions& predictions, const TrainedData& data) {
  Json images = Json::array();
  for (const PredictedImage& image : predictions.images) {
    Json guesses = Json::array();
    for (const Guess& guess : image.guesses) {
      guesses.push_back({{"class", class_name(data, guess.label)},
                         {"label", guess.label},
                         {"probability", guess.probability}});
    }
    images.push_back({{"path", image.path}, {"predictions", guesses}});
  }
  return {{"images", images},
          {"scaled", to_json(predictions.scaled)},
          {"bad_images", to_json(predictions.bad)}};
}

}  // namespace skyline
