#include "train/lab/compared_steps.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "data/loader.h"
#include "train/cli/usage_error.h"
#include "train/images/image_data.h"
#include "train/images/image_dry_run.h"
#include "train/images/image_run.h"
#include "train/translation/planned_pairs.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"
#include "train/translation/translation_workload.h"

namespace skyline {
namespace {

class ImageSteps final : public ComparedSteps {
 public:
  ImageSteps(const TrainOptions& options, const TrainingData& data, const MemoryOptions& memory,
             const Context::Options& context)
      : options_(options),
        experiment_(memory, context, find_model(options.model), data.shape()),
        loader_(*data.train,
                {.batch_size = static_cast<std::size_t>(options.batch_size),
                 .threads = static_cast<std::size_t>(options.data.decode_threads)},
                random_bits(options.data.seed)) {}

  Workplace& workplace() override { return experiment_; }

  void next() override {
    loader_.next(batch_);
    // An image that cannot be read is computed with and not looked at.
    for (std::int32_t& label : batch_.labels) label = std::max(label, 0);
  }

  float step(std::int64_t, double learning_rate) override {
    return experiment_.step(batch_, {.learning_rate = static_cast<float>(learning_rate),
                                     .momentum = static_cast<float>(options_.momentum),
                                     .weight_decay = static_cast<float>(options_.weight_decay)});
  }

 private:
  const TrainOptions& options_;
  Experiment experiment_;
  Loader loader_;
  Batch batch_;
};

class ImageComparison final : public ComparedData {
 public:
  ImageComparison(const TrainOptions& options, Mode mode)
      : options_(options),
        mode_(mode),
        data_(open_training_data(options.data, find_model(options.model).shape)) {
    set_mean(data_, compute_mean(data_, options.data));
  }

  std::unique_ptr<ComparedSteps> steps(const MemoryOptions& memory) const override {
    Context::Options context = context_options(options_);
    context.mode = mode_;
    return std::make_unique<ImageSteps>(options_, data_, memory, context);
  }
  std::string name() const override { return data_.train->name(); }
  std::vector<BadImage> bad_images() const override { return data_.unreadable(); }

  std::vector<ReportFact> facts() const override {
    const ModelShape shape = data_.shape();
    std::vector<ReportFact> facts = {
        {"images", fmt::format("{} × {} × {}", shape.channels, shape.height, shape.width)},
        {"classes", std::to_string(shape.classes)}};
    if (mode_ == Mode::kTraining) {
      facts.push_back({"momentum", fmt::format("{}", options_.momentum)});
      facts.push_back({"weight decay", fmt::format("{}", options_.weight_decay)});
    }
    return facts;
  }

  Trace trace() const override {
    return dry_run({.model = options_.model,
                    .shape = data_.shape(),
                    .batch_size = options_.batch_size,
                    .mode = mode_,
                    .in_place = options_.in_place,
                    .recompute = static_cast<int>(options_.recompute),
                    .fused_update = options_.fused_update,
                    .guard = options_.memory.guard,
                    .compute = make_compute(options_.memory.device, options_.device)})
        .trace;
  }

 private:
  TrainOptions options_;
  Mode mode_;
  TrainingData data_;
};

class TranslationSteps final : public ComparedSteps {
 public:
  TranslationSteps(const TrainOptions& options, const TranslationData& data,
                   const MemoryOptions& memory, const LongestBatches& longest)
      : clip_(static_cast<float>(options.translation.clip)),
        experiment_(memory, context_options(options), seq2seq_shape(options.translation, data)) {
    Session* session = experiment_.memory.session();
    if (memory.policy != ShapePolicy::kUpperBound) session = nullptr;
    if (session != nullptr) session->adopt(longest.steps);
    pairs_.emplace(
        PairLoader(data.train, pair_loader_options(options), random_bits(options.data.seed)),
        longest.facts.one_plan ? nullptr : session, translation_dry_run(options, data));
  }

  Workplace& workplace() override { return experiment_; }
  void next() override { batch_ = pairs_->next(); }

  float step(std::int64_t number, double learning_rate) override {
    return translation_training_step(
        experiment_.context, experiment_.model, *experiment_.optimizer, batch_,
        {.adam = {.alpha = static_cast<float>(learning_rate), .step = number}, .clip = clip_});
  }
  std::vector<std::pair<std::string, std::uint64_t>> lengths() const override {
    return {{"source", batch_.source.batch_sizes.size()},
            {"target", batch_.target.batch_sizes.size()}};
  }

 private:
  float clip_;
  TranslationExperiment experiment_;
  std::optional<PlannedPairs> pairs_;
  PairBatch batch_;
};

class TranslationComparison final : public ComparedData {
 public:
  TranslationComparison(const TrainOptions& options, std::int64_t steps)
      : options_(options),
        data_(open_translation_data(options.translation, options.data.data, options.data.seed)),
        longest_(longest_batches(options, data_, steps)) {}

  std::unique_ptr<ComparedSteps> steps(const MemoryOptions& memory) const override {
    return std::make_unique<TranslationSteps>(options_, data_, memory, longest_);
  }
  std::string name() const override { return data_.name; }
  Trace trace() const override { return longest_.steps.front(); }
  std::optional<LongestBatchFacts> longest_batch() const override { return longest_.facts; }

  std::vector<ReportFact> facts() const override {
    const Seq2SeqShape shape = seq2seq_shape(options_.translation, data_);
    return {{"pairs", std::to_string(data_.train.source.size())},
            {"words", fmt::format("{} and {}", shape.source_words, shape.target_words)},
            {"LSTMs", fmt::format("{} × {}, {}", shape.layers, shape.units,
                                  shape.unroll ? "word by word" : "packed")}};
  }

 private:
  TrainOptions options_;
  TranslationData data_;
  LongestBatches longest_;
};

}  // namespace

std::unique_ptr<ComparedData> open_compared_data(const TrainOptions& options, Mode mode,
                                                 std::int64_t steps) {
  omp_set_num_threads(static_cast<int>(options.threads));
  if (!translates(options)) return std::make_unique<ImageComparison>(options, mode);
  if (mode == Mode::kInference) {
    throw UsageError("--infer is for models of images: seq2seq is compared in training");
  }
  return std::make_unique<TranslationComparison>(options, steps);
}

}  // namespace skyline
