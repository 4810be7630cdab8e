#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "framework/ops/normalization/batch_norm.h"
#include "framework/philox.h"
#include "train/cli/option_list.h"
#include "train/data_results.h"
#include "train/even_workload.h"
#include "train/images/image_data.h"
#include "train/images/image_run.h"
#include "train/images/trained_network.h"
#include "train/options/train_options.h"
#include "train/report/report.h"
#include "train/run/dry_run.h"

namespace skyline {
namespace {

// The weights that --class-weights says. Throws UsageError unless there is a positive one for each
// class, and, for balanced ones, an image.
std::vector<float> class_weights(const std::string& said, const ImageData& data) {
  std::vector<double> weights;
  if (said == kBalanced) {
    std::vector<std::int64_t> images(static_cast<std::size_t>(data.classes));
    for (std::size_t i = 0; i < data.train->size(); ++i) {
      const std::int32_t label = data.train->label(i);
      if (label != kNotCounted) ++images.at(static_cast<std::size_t>(label));
    }
    for (const std::int64_t of_class : images) {
      weights.push_back(static_cast<double>(data.train->size()) /
                        static_cast<double>(of_class * data.classes));
    }
  } else if (!said.empty()) {
    OptionList list;
    double weight = 0;
    Option& one = list.add("--class-weights", number(weight, 0, 1e6), "");
    for (const std::string& part : split_at_commas(said)) {
      one.take(part);
      weights.push_back(weight);
    }
    if (std::ssize(weights) != data.classes) {
      throw UsageError(
          fmt::format("--class-weights: got {} for {} classes", weights.size(), data.classes));
    }
  }
  const std::vector<std::string>& names = data.train->class_names();
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const std::string name = k < names.size() ? printable(names[k]) : std::to_string(k);
    if (!std::isfinite(weights[k])) {
      throw UsageError(
          fmt::format("--class-weights {}: class '{}' has no training image", kBalanced, name));
    }
    if (!(static_cast<float>(weights[k]) > 0)) {
      throw UsageError(fmt::format("--class-weights: that of class '{}' must be above 0", name));
    }
  }
  return {weights.begin(), weights.end()};
}

// Trains an image classifier.
class ImageWorkload final : public EvenWorkload {
 public:
  ImageWorkload(const TrainOptions& options, const LiveParts& live, Console& console)
      : EvenWorkload(options, live, console),
        data_(open_image_data(options.data, find_model(options.model).shape)),
        run_options_{.model = options.model,
                     .shape = data_.shape(),
                     .optimizer = optimizer_options(options),
                     .label_smoothing = static_cast<float>(options.label_smoothing),
                     .class_weights = class_weights(options.class_weights, data_),
                     .batch_size = static_cast<std::size_t>(options.batch_size),
                     .decode_threads = static_cast<std::size_t>(options.data.decode_threads)} {
    live_.warn = [&console](const std::string& line) { console.warn(line); };
    // Checks the batch size before a run folder is made.
    const Loader loader(*data_.train,
                        {.batch_size = run_options_.batch_size,
                         .prefetch = 0,
                         .step_batches = static_cast<std::size_t>(step_batches(options))},
                        Philox{options.data.seed});
    facts_ = {.name = data_.train->name(),
              .item = "images",
              .batches_per_epoch = static_cast<std::int64_t>(loader.batches_per_epoch()),
              .metrics = {{"top1", "test top-1", MetricKind::kShare},
                          {"top5", "test top-5", MetricKind::kShare},
                          {"test_loss", "test", MetricKind::kLoss},
                          {kTrainingTop1, "training top-1", MetricKind::kShare}},
              .patience = "top1",
              .patience_text = "top-1",
              .lengths_name = {},
              .uses = {"predict RUN FILE.jpg", "evaluate RUN"}};
    for (const std::string& warning : data_.warnings) console.warn(warning);
    if (run_options_.batch_size == 1) warn_of_single_values();
    // Small batches need no dry run to know that they fit.
    constexpr std::uint64_t kSmallBatch = std::uint64_t{64} << 20;  // bytes
    const std::uint64_t batch_bytes =
        run_options_.batch_size * data_.train->image_shape().elements() * sizeof(float);
    if (batch_bytes > kSmallBatch) {
      require_memory("training", (LoaderOptions{}.prefetch + 1) * batch_bytes);
    }
  }

  std::vector<ReportFact> facts(Mode mode) const override {
    const ModelShape& shape = run_options_.shape;
    std::vector<ReportFact> facts = {
        {"images", fmt::format("{} × {} × {}", shape.channels, shape.height, shape.width)},
        {"classes", std::to_string(shape.classes)}};
    if (mode == Mode::kTraining && options_.optimizer == "sgd") {
      facts.push_back({"momentum", fmt::format("{}", options_.momentum)});
      facts.push_back(
          {"weight decay",
           fmt::format("{}{}", *options_.weight_decay,
                       options_.decay_weights_only ? ", of matrices and kernels" : "")});
    }
    if (mode == Mode::kTraining && options_.label_smoothing > 0) {
      facts.push_back({"label smoothing", fmt::format("{}", options_.label_smoothing)});
    }
    if (mode == Mode::kTraining && !options_.class_weights.empty()) {
      facts.push_back({"class weights", options_.class_weights});
    }
    return facts;
  }
  void prepare() override {
    say_normalisation();
    mean_ = compute_mean(data_, options_.data, console_);
    set_mean(data_, mean_);
  }
  void save(const std::filesystem::path& folder, StoredJson& data) const override {
    if (mean_ != nullptr) write_mean(folder, *mean_);
    store_data(data_, options_.data, mean_.get(), data);
  }
  void check_data(const StoredJson& data) const override {
    skyline::check_data(data_, trained_data(data), DataMatch::kAll);
  }
  void resume(const std::filesystem::path& folder, const StoredJson& data) override {
    const TrainedData trained = trained_data(data);
    if (data_.train_arrays != nullptr && trained.normalisation) {
      set_normalisation(data_, *trained.normalisation);
    }
    say_normalisation();
    mean_ = read_mean(folder);
    if (mean_ != nullptr || data_.train_images == nullptr || !options_.data.has_mean_image()) {
      return set_mean(data_, mean_);
    }
    console_.warn(
        fmt::format("{} is missing in {}: computing the mean again", kMeanFile, folder.string()));
    prepare();
    write_mean(folder, *mean_);
  }
  // Decoding threads must not tell, so the thread of the steps asks what they found.
  std::vector<std::string> take_problems() override {
    std::vector<std::string> problems;
    if (data_.bad_images == nullptr) return problems;
    for (const BadImage& bad : data_.bad_images->take_new()) {
      problems.push_back(fmt::format("skipped {}: {}", printable(bad.path), bad.reason));
    }
    return problems;
  }
  DataResults results(const StepDecisions&) override { return {.bad_images = data_.unreadable()}; }

 private:
  std::unique_ptr<ModelRun> make_run(const MemoryOptions& memory, const Context::Options& context,
                                     const StepShares& shares,
                                     const MemoryWatch& watch) const override {
    ImageRunOptions options = run_options_;
    options.shares = shares;
    options.watch = watch;
    return std::make_unique<ImageRun>(memory, context, options, &data_);
  }
  // An evaluation may come before the warm-up ends, in a resumed run for example.
  PlanNeeds needs(const StepDecisions& decisions, Mode mode) const override {
    PlanNeeds needs = EvenWorkload::needs(decisions, mode);
    if (mode == Mode::kTraining) {
      const auto size = std::min<std::int64_t>(options_.batch_size,
                                               static_cast<std::int64_t>(data_.test->size()));
      needs.beside =
          dry_run(decisions, live_, Mode::kInference).foresee(size, Mode::kInference).trace;
    }
    return needs;
  }
  // Batch normalization makes a value that is alone in its channel 0, whatever it is. The op's
  // first two results, its output and its means, are then of one size.
  void warn_of_single_values() {
    const DryRunFacts step = dry_run(as_said(options_), live_, Mode::kTraining)
                                 .foresee(options_.batch_size, Mode::kTraining, DryRun::Graph::kOn);
    const StepGraph& graph = step.step.graph;
    int alone = 0;
    for (const StepOp& op : graph.ops) {
      if (op.name != kBatchNorm || op.outputs.size() < 2) continue;
      if (graph.values[op.outputs[0]].bytes != graph.values[op.outputs[1]].bytes) continue;
      alone += normalizes_shortcut(graph, op) ? 2 : 1;
    }
    if (alone == 0) return;
    console_.warn(fmt::format(
        "{} batch normalizations see one value a channel and make it 0, so nothing before them "
        "learns: give a larger --batch-size or --insize",
        alone));
  }
  void say_normalisation() {
    if (data_.train_arrays == nullptr) return;
    console_.say(data_.description + "; " +
                 normalisation_text(*data_.normalisation, run_options_.shape.channels));
  }

  ImageData data_;
  std::shared_ptr<const MeanImage> mean_;  // null: nothing is subtracted
  ImageRunOptions run_options_;
};

}  // namespace

std::unique_ptr<Workload> image_workload(const TrainOptions& options, const LiveParts& live,
                                         Console& console) {
  return std::make_unique<ImageWorkload>(options, live, console);
}

}  // namespace skyline
