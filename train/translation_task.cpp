#include "train/translation_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/divergence.h"
#include "train/training_data.h"
#include "train/training_step.h"
#include "train/translation_evaluation.h"

namespace skyline {
namespace {

constexpr std::size_t kEvaluationBatch = 100;  // the paper's, at most

constexpr std::int64_t kMostBatches = 1'000'000;  // looked at for the longest: under a minute

}  // namespace

Seq2SeqShape seq2seq_shape(const TranslationOptions& options, const TranslationData& data) {
  return seq2seq_shape(options, static_cast<std::int64_t>(data.vocabularies.source.size()),
                       static_cast<std::int64_t>(data.vocabularies.target.size()));
}

PairLoaderOptions pair_loader_options(const TrainOptions& options) {
  return {.batch_size = static_cast<std::size_t>(options.batch_size),
          .bucket = options.translation.bucket};
}

std::vector<Trace> longest_steps(const TrainOptions& options, const TranslationData& data,
                                 std::int64_t steps) {
  PairLoader loader(data.train, pair_loader_options(options), random_bits(options.data.seed));
  PairBatch source, target;
  for (std::int64_t step = 0; step < std::min(steps, kMostBatches); ++step) {
    PairBatch batch = loader.next();
    if (batch.source.words.size() > source.source.words.size()) source = batch;
    if (batch.target.words.size() > target.target.words.size()) target = std::move(batch);
  }
  std::vector<Trace> traces;
  const auto add = [&](const PairBatch& batch) {
    traces.push_back(dry_run({.shape = seq2seq_shape(options.translation, data),
                              .batch = batch,
                              .in_place = options.in_place,
                              .guard = options.memory.guard,
                              .clip = static_cast<float>(options.translation.clip)}));
  };
  add(source);
  if (target.position != source.position) add(target);
  return traces;
}

TranslationTask::TranslationTask(const TrainOptions& options, SessionListener listener,
                                 Console& console)
    : options_(options),
      data_(open_translation_data(options.translation, options.data.data, options.data.seed)) {
  console.say(data_->train_summary.text());
  if (data_->val_summary) console.say("validation: " + data_->val_summary->text());
  experiment_.emplace(with_listener(options.memory, std::move(listener)), context_options(options),
                      seq2seq_shape(options.translation, *data_));
  batches_per_epoch_ = static_cast<std::int64_t>(
      PairLoader(data_->train, pair_loader_options(options), random_bits(options.data.seed))
          .batches_per_epoch());
}

void TranslationTask::start(const std::filesystem::path& folder, TrainingPosition& position) {
  data_->vocabularies.save(folder);
  position.more["vocabularies"] = data_->vocabularies.fingerprint();
}

void TranslationTask::resume(const std::filesystem::path& folder,
                             const TrainingPosition& position) {
  check_vocabularies(Vocabularies::open(folder), position);
  check_vocabularies(data_->vocabularies, position);
}

void TranslationTask::seek(const TrainingPosition& position) {
  PairLoaderOptions loader = pair_loader_options(options_);
  loader.start = {.epoch = static_cast<std::uint64_t>(position.epoch),
                  .batch = static_cast<std::uint64_t>(position.batch)};
  loader_.emplace(data_->train, loader, random_bits(position.order_seed));
}

Task::Step TranslationTask::step(std::int64_t number, double learning_rate) {
  const PairBatch batch = loader_->next();
  TranslationExperiment& experiment = *experiment_;
  const RandomStream random = experiment.context.random();
  Step step{.loss = 0,
            .wait_seconds = 0,
            .lengths = {{"source", batch.source.batch_sizes.size()},
                        {"target", batch.target.batch_sizes.size()}}};
  try {
    step.loss = translation_training_step(
        experiment.context, experiment.model, *experiment.optimizer, batch,
        {.adam = {.alpha = static_cast<float>(learning_rate), .step = number},
         .clip = static_cast<float>(options_.translation.clip)});
  } catch (const LossNotFinite& error) {
    throw explain_divergence(
        experiment.context, experiment.model,
        [&] { translation_loss(experiment.context, experiment.model, batch); }, random, number,
        error.loss());
  }
  return step;
}

Task::Evaluation TranslationTask::evaluate(std::int64_t number) {
  const std::size_t batch_size =
      std::min(kEvaluationBatch, static_cast<std::size_t>(options_.batch_size));
  const TranslationQuality quality = translation_quality(
      experiment_->context, experiment_->model, *data_, batch_size,
      static_cast<std::size_t>(options_.translation.val_pairs), static_cast<std::size_t>(number));
  experiment_->context.allocator().release_cached();
  return {.metrics = {{"bleu", quality.bleu.score()},
                      {"exact_match", quality.bleu.exact_match()},
                      {"perplexity", quality.perplexity}},
          .text = fmt::format("{}, exact match {:.1f} %, perplexity {:.3f}", quality.bleu.text(),
                              100 * quality.bleu.exact_match(), quality.perplexity),
          .sample =
              fmt::format("  source     {}\n  answer     {}\n  reference  {}",
                          quality.sample_source, quality.sample_answer, quality.sample_reference)};
}

bool TranslationTask::evaluates_after(std::int64_t number) const {
  const std::int64_t every = options_.translation.translate_every;
  return every > 0 && number % every == 0;
}

std::vector<Trace> TranslationTask::longest_steps() const {
  return skyline::longest_steps(options_, *data_,
                                options_.steps.value_or(options_.epochs * batches_per_epoch_));
}

void TranslationTask::add_facts(nlohmann::ordered_json& json, std::string&) const {
  json["source_words"] = data_->vocabularies.source.size();
  json["target_words"] = data_->vocabularies.target.size();
  json["pairs"] = data_->train.source.size();
}

}  // namespace skyline
