#include "train/translation/translation_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/images/image_data.h"
#include "train/images/image_step.h"
#include "train/run/divergence.h"
#include "train/translation/translation_evaluation.h"

namespace skyline {
namespace {

constexpr std::size_t kEvaluationBatch = 100;  // the paper's, at most

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What became of the lines, and where the first of each fault is.
void tell(Console& console, const std::string& what, const TextSummary& summary) {
  console.say(what + summary.text());
  for (const std::string& fault : summary.faults) console.warn(fault);
}

}  // namespace

Seq2SeqShape seq2seq_shape(const TranslationOptions& options, const TranslationData& data) {
  return seq2seq_shape(options, static_cast<std::int64_t>(data.vocabularies.source.size()),
                       static_cast<std::int64_t>(data.vocabularies.target.size()));
}

TranslationTask::TranslationTask(const TrainOptions& options, SessionListener listener,
                                 Console& console)
    : options_(options),
      data_(open_translation_data(options.translation, options.data.data, options.data.seed)) {
  tell(console, "", data_->train_summary);
  if (data_->val_summary) tell(console, "validation: ", *data_->val_summary);
  experiment_.emplace(with_listener(options.memory, std::move(listener)), context_options(options),
                      seq2seq_shape(options.translation, *data_));
  batches_per_epoch_ = static_cast<std::int64_t>(
      PairLoader(data_->train, pair_loader_options(options), random_bits(options.data.seed))
          .batches_per_epoch());
  if (options.memory.policy != ShapePolicy::kUpperBound) return;
  if (experiment_->memory.session() == nullptr) return;
  longest_ = find_longest();
  console.say(longest_batch_text(longest_->facts));
}

LongestBatches TranslationTask::find_longest() const {
  return longest_batches(options_, *data_,
                         options_.steps.value_or(options_.epochs * batches_per_epoch_));
}

void TranslationTask::start(const std::filesystem::path& folder, TrainingPosition& position) {
  data_->vocabularies.save(folder);
  (*position.more)["vocabularies"] = data_->vocabularies.fingerprint();
}

void TranslationTask::resume(const std::filesystem::path& folder,
                             const TrainingPosition& position) {
  check_vocabularies(Vocabularies::open(folder), folder.string(), position);
  check_vocabularies(data_->vocabularies, data_->name, position);
}

void TranslationTask::seek(const TrainingPosition& position) {
  PairLoaderOptions loader = pair_loader_options(options_);
  loader.start = {.epoch = static_cast<std::uint64_t>(position.epoch),
                  .batch = static_cast<std::uint64_t>(position.batch)};
  const bool plan_each = longest_ && !longest_->facts.one_plan;
  pairs_.emplace(PairLoader(data_->train, loader, random_bits(position.order_seed)),
                 plan_each ? experiment_->memory.session() : nullptr,
                 translation_dry_run(options_, *data_));
}

Task::Step TranslationTask::step(std::int64_t number, double learning_rate) {
  const double asked = now_seconds();
  const PairBatch batch = pairs_->next();
  TranslationExperiment& experiment = *experiment_;
  const RandomStream random = experiment.context.random();
  Step step{.loss = 0,
            .wait_seconds = now_seconds() - asked,
            .lengths = {{"source", batch.source.batch_sizes.size()},
                        {"target", batch.target.batch_sizes.size()}}};
  step.words = batch.target_out.size();
  try {
    step.loss = translation_training_step(
        experiment.context, experiment.model, *experiment.optimizer, batch,
        {.adam = {.alpha = static_cast<float>(learning_rate), .step = number},
         .clip = static_cast<float>(options_.translation.clip)});
    step.perplexity =
        std::exp(step.loss * static_cast<double>(batch.size()) / static_cast<double>(step.words));
  } catch (const LossNotFinite& error) {
    const Interruption interruption(experiment.context.allocator());
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
  Allocator& memory = experiment_->context.allocator();
  TranslationQuality quality;
  {
    const Interruption interruption(memory);
    quality = translation_quality(experiment_->context, experiment_->model, *data_, batch_size,
                                  static_cast<std::size_t>(options_.translation.val_pairs),
                                  static_cast<std::size_t>(number));
  }
  memory.release_cached();
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
  return longest_ ? longest_->steps : find_longest().steps;
}

void TranslationTask::add_facts(nlohmann::ordered_json& json, std::string& text) const {
  json["source_words"] = data_->vocabularies.source.size();
  json["target_words"] = data_->vocabularies.target.size();
  json["pairs"] = data_->train.source.size();
  if (!longest_) return;
  json["longest_batch"] = to_json(longest_->facts);
  text += longest_batch_text(longest_->facts) + "\n";
}

}  // namespace skyline
