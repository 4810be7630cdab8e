#include <fmt/format.h>

#include <memory>
#include <ranges>

#include "train/commands/commands.h"
#include "train/data_results.h"
#include "train/images/prediction.h"

namespace skyline {
namespace {

struct PredictArguments {
  CheckpointArguments network;
  std::vector<std::filesystem::path> images;
  std::int64_t top = 5;
  DataOptions data;  // only its decoding threads
};

// "2 of 3 images were scaled to 28 x 28, as in training: a.png (300 x 200), …".
std::string scaling_text(const Predictions& predictions) {
  constexpr std::size_t kNamed = 3;
  std::string named;
  for (const BadImage& image : predictions.scaled | std::views::take(kNamed)) {
    named += fmt::format("{}{} ({})", named.empty() ? "" : ", ", image.path, image.reason);
  }
  if (predictions.scaled.size() > kNamed) named += ", …";
  return fmt::format("{} image{} scaled to {} x {}, the size in training: {}",
                     predictions.scaled.size(), predictions.scaled.size() == 1 ? " was" : "s were",
                     predictions.input.width, predictions.input.height, named);
}

// What is predicted, and the network that it is by.
struct PredictionAnswer {
  const TrainedNetwork& by;
  const Predictions& found;

  const TrainedNetwork& network() const { return by; }
  const Predictions& predictions() const { return found; }
};

Rows<PredictionAnswer> rows(const PredictionAnswer*) {
  return {{"", "the network", &PredictionAnswer::network},
          {"", "what it predicts", &PredictionAnswer::predictions}};
}

CommandResult run(const PredictArguments& arguments, Console& console) {
  TrainedNetwork trained = load_network(arguments.network, console);
  trained.options.data.decode_threads = arguments.data.decode_threads;
  trained.options = resolved(trained.options);
  const Predictions predictions =
      predict(trained, arguments.images, static_cast<std::size_t>(arguments.top));
  if (!predictions.scaled.empty()) console.say(scaling_text(predictions));
  for (const BadImage& bad : predictions.bad) {
    console.error(fmt::format("{}: {}", bad.path, bad.reason));
  }
  return {.json = json_text(value_of(PredictionAnswer{trained, predictions})),
          .text = predictions_text(predictions),
          .exit_code = predictions.bad.empty() ? 0 : 1};
}

}  // namespace

CommandRun declare_predict(OptionList& list) {
  const auto arguments = std::make_shared<PredictArguments>();
  add_checkpoint_arguments(list, "RUN", arguments->network);
  list.add("IMAGE", paths(arguments->images, "FILE|DIR"),
           "JPEG and PNG files, and folders of which every file is predicted", kRequired);
  list.add("--top", integer(arguments->top, 1, 1'000'000), "Most classes to print for each image");
  add_decode_threads(list, arguments->data);
  list.prints(keys<PredictionAnswer>);
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
