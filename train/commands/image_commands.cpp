// The commands that read a checkpoint of an image model: evaluate, which hands texts on, and
// predict.
#include <fmt/format.h>

#include <memory>
#include <ranges>

#include "data/host.h"
#include "memory/now_seconds.h"
#include "train/checkpoints/files.h"
#include "train/commands/commands.h"
#include "train/data_results.h"
#include "train/images/confusion.h"
#include "train/images/image_step.h"
#include "train/images/prediction.h"
#include "train/run/memory_summary.h"

namespace skyline {
namespace {

struct EvaluateArguments {
  CheckpointArguments network;
  DataOptions data;
  std::filesystem::path report;
};

// Replaces the run's data by those of this command.
void take_data(TrainOptions& options, const OptionList& list, const DataOptions& data) {
  const auto given = [&list](const char* flag) { return list.given(flag); };
  if (given("--data") || given("--train-list") || given("--val-list")) {
    options.data.val_split.reset();
    options.data.data = data.data;
    options.data.train_list = data.train_list;
    options.data.val_list = data.val_list;
    options.data.root = data.root;
  }
  if (given("--root")) options.data.root = data.root;
  if (given("--val-split")) options.data.val_split = data.val_split;
  options.data.decode_threads = data.decode_threads;
  options.data.strict = data.strict;
}

// Uses the run's mean or normalisation, not those of the data at hand. A lost mean is computed
// again.
void normalise_as_trained(ImageData& data, const TrainedNetwork& trained, Console& console) {
  if (data.test_arrays != nullptr && trained.data.normalisation) {
    set_normalisation(data, *trained.data.normalisation);
    console.say(data.description + "; " +
                normalisation_text(*data.normalisation, data.test->image_shape().channels));
  }
  if (data.test_images == nullptr || !trained.options.data.has_mean_image()) return;
  const std::filesystem::path run = run_folder_of(trained.loaded);
  const bool lost = data.train_images != nullptr && read_mean(run) == nullptr;
  set_mean(data, lost ? compute_mean(data, trained.options.data, console) : stored_mean(run));
}

// What an evaluation says, and the network and data that it is of.
struct EvaluationAnswer {
  TrainedNetwork network;
  std::string data;
  int classes = 0;
  Accuracy accuracy;
  const Confusion& confusion;
  double seconds = 0;
  ProcessSummary process;
  std::vector<BadImage> bad_images;
};

Rows<EvaluationAnswer> rows(const EvaluationAnswer*) {
  return {{"model", "the network", [](auto& answer) { return answer.network.options.model; }},
          {"data", "what it was evaluated on", &EvaluationAnswer::data},
          {"", "the network", &EvaluationAnswer::network},
          {"images", kCount, "evaluated", [](auto& answer) { return answer.accuracy.total; }},
          {"top1", kShare, "images whose likeliest class is theirs",
           [](auto& answer) { return answer.accuracy.top1(); }},
          {"top5", kShare, "images whose class is among the five likeliest; null: few classes",
           [](auto& answer) {
             return answer.classes > kTopGuesses ? std::optional(answer.accuracy.top5())
                                                 : std::nullopt;
           }},
          {"loss", kNumber, "mean cross-entropy",
           [](auto& answer) { return answer.accuracy.mean_loss(); }},
          {"classes", "by label", [](auto& answer) { return answer.confusion.classes(); }},
          {"confusion",
           "rows of numbers of images: the true class is the row, the likeliest one the column; "
           "null: more than 1,000 classes",
           [](auto& answer) {
             auto matrix = answer.confusion.matrix();
             return matrix.empty() ? std::nullopt : std::optional(std::move(matrix));
           }},
          {"seconds", kSeconds, "of the evaluation", &EvaluationAnswer::seconds},
          {"process", "what the system counts for this process", &EvaluationAnswer::process},
          {"bad_images", "files that could not be used", &EvaluationAnswer::bad_images}};
}

std::string to_text(const Accuracy& accuracy, int classes) {
  std::string text = fmt::format("top-1 {:.2f} %", 100 * accuracy.top1());
  if (classes > kTopGuesses) text += fmt::format(", top-5 {:.2f} %", 100 * accuracy.top5());
  return text + fmt::format(", loss {:.4f} on {} images", accuracy.mean_loss(), accuracy.total);
}

// Lists and IDX files do not tell how many classes there are, only the largest label, so the run's
// number is safer. Its names are compared with known ones only.
void adopt_classes(DataOptions& data, const TrainedData& trained) {
  data.class_names.clear();
  const bool numbered = data.has_lists() || reads_idx_files(data);
  if (!numbered || data.classes || trained.class_names.empty()) return;
  data.classes = static_cast<std::int64_t>(trained.class_names.size());
}

// The figures at the top of the page.
std::vector<std::pair<std::string, std::string>> page_facts(const Accuracy& accuracy, int classes) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"top-1", fmt::format("{:.2f} %", 100 * accuracy.top1())}};
  if (classes > kTopGuesses) {
    facts.emplace_back("top-5", fmt::format("{:.2f} %", 100 * accuracy.top5()));
  }
  facts.emplace_back("loss", fmt::format("{:.4f}", accuracy.mean_loss()));
  facts.emplace_back("images", std::to_string(accuracy.total));
  if (accuracy.not_counted > 0) {
    facts.emplace_back("unreadable, not counted", std::to_string(accuracy.not_counted));
  }
  return facts;
}

CommandResult run(const OptionList& list, const EvaluateArguments& arguments, Console& console) {
  require_folder_of(arguments.report);
  TrainedNetwork trained = load_network(arguments.network, kImagesOnly | kGptOnly, console);
  TrainOptions& options = trained.options;
  if (task_of(options.model).trait == kGptOnly) {
    if (list.given("--report")) throw UsageError("--report is for models that read images");
    return evaluate_text(std::move(trained), list.given("--data") ? arguments.data.data : "");
  }
  take_data(options, list, arguments.data);
  options = resolved(options);
  const bool names_given = !options.data.class_names.empty();
  adopt_classes(options.data, trained.data);
  ImageData data = open_image_data(options.data, find_model(options.model).shape,
                                   {.training = false, .run_classes = trained.data.class_names});
  if (list.given("--val-split") && data.collection == nullptr) {
    throw UsageError("--val-split is for image files and would do nothing here");
  }
  for (const std::string& warning : data.warnings) console.warn(warning);
  check_data(data, trained.data,
             data.named && !names_given ? DataMatch::kClasses : DataMatch::kClassNumber);
  normalise_as_trained(data, trained, console);

  const std::unique_ptr<ImageRun> run = inference_run(trained, data.shape());
  const double started = now_seconds();
  Confusion confusion(data.test->class_names(), static_cast<std::size_t>(data.classes));
  const Accuracy accuracy =
      evaluate(run->context, *run->model, *data.test, evaluation_batches(options), {},
               [&confusion](std::size_t index, std::span<const float> logits, std::int32_t label) {
                 confusion.add(index, logits, label);
               });
  const double seconds = now_seconds() - started;
  const ModelRun* const runs[] = {run.get()};
  const EvaluationAnswer answer{.network = trained,
                                .data = data.test->name(),
                                .classes = data.classes,
                                .accuracy = accuracy,
                                .confusion = confusion,
                                .seconds = seconds,
                                .process = process_summary(runs, 0),
                                .bad_images = data.unreadable()};
  const std::string title = fmt::format("{} after step {} on {}", options.model,
                                        trained.position().step, data.test->name());
  if (!arguments.report.empty()) {
    write_and_say(arguments.report,
                  confusion_page(confusion, data, title, page_facts(accuracy, data.classes)),
                  console);
  }
  return told(answer, bad_images_text(data.unreadable()) + confusion_text(confusion) +
                          fmt::format("{}: {}\n", title, to_text(accuracy, data.classes)));
}

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
    named +=
        fmt::format("{}{} ({})", named.empty() ? "" : ", ", printable(image.path), image.reason);
  }
  if (predictions.scaled.size() > kNamed) named += ", …";
  return fmt::format("{} image{} scaled to {} x {}, the size in training: {}",
                     predictions.scaled.size(), predictions.scaled.size() == 1 ? " was" : "s were",
                     predictions.input.width, predictions.input.height, named);
}

// The predictions, and the network that made them.
struct PredictionAnswer {
  TrainedNetwork network;
  Predictions predictions;
};

Rows<PredictionAnswer> rows(const PredictionAnswer*) {
  return {{"", "the network", &PredictionAnswer::network},
          {"", "what it predicts", &PredictionAnswer::predictions}};
}

CommandResult run(const PredictArguments& arguments, Console& console) {
  TrainedNetwork trained = load_network(arguments.network, kImagesOnly, console);
  trained.options.data.decode_threads = arguments.data.decode_threads;
  trained.options = resolved(trained.options);
  const Predictions predictions =
      predict(trained, arguments.images, static_cast<std::size_t>(arguments.top));
  if (!predictions.scaled.empty()) console.say(scaling_text(predictions));
  for (const BadImage& bad : predictions.bad) {
    console.error(fmt::format("{}: {}", printable(bad.path), bad.reason));
  }
  return told(PredictionAnswer{trained, predictions}, predictions_text(predictions),
              predictions.bad.empty() ? 0 : 1);
}

}  // namespace

CommandRun declare_evaluate(OptionList& list) {
  const auto arguments = std::make_shared<EvaluateArguments>();
  add_checkpoint_arguments(list, "CHECKPOINT", arguments->network);
  add_image_sources(list, arguments->data);
  add_decoding_options(list, arguments->data);
  list.add("--report", path(arguments->report, "FILE.html"),
           "Write a page with the matrix of classes and predictions and pictures of mistakes");
  list.prints(keys<EvaluationAnswer>);
  list.prints(text_evaluation_keys);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

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
