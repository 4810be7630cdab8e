#include "train/translation/translation_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/run/now_seconds.h"
#include "train/run/random_bits.h"
#include "train/translation/translation_evaluation.h"

namespace skyline {
namespace {

constexpr std::size_t kEvaluationBatch = 100;  // at most; as in the paper

}  // namespace

TranslationRun::TranslationRun(const MemoryOptions& memory_options,
                               const Context::Options& context_options,
                               TranslationRunOptions options, const TranslationData* data)
    : ModelRun(memory_options, context_options, options.shares, options.watch),
      model(context, options.shape),
      options_(std::move(options)),
      choices_{.savings = {context_options.savings}},
      data_(data) {
  own_optimizer(options_.optimizer);
}

void TranslationRun::seek(const BatchPosition& position, std::uint64_t seed) {
  PairLoaderOptions loader = options_.loader;
  loader.start = position;
  loader.share = share();
  DryPairStep dry_step;
  if (options_.plan_each_batch) {
    memory.give_advice_room(choices_.plan_bytes);
    Context::Options dry_context = context.options();
    dry_context.compute = options_.dry_compute;
    const auto dry = std::make_shared<TranslationDryRun>(dry_context, options_, memory.guarded());
    dry_step = [dry](const std::vector<PairBatch>& batches, const Savings& savings) {
      return dry->trace(batches, savings);
    };
  }
  pairs_.emplace(PairLoader(data_->train, loader, random_bits(seed)), step_batches(),
                 options_.plan_each_batch ? memory.session() : nullptr, choices_,
                 std::move(dry_step));
}

double TranslationRun::next() {
  const double asked = now_seconds();
  PlannedPairs::Step step = pairs_->next();
  batches_ = std::move(step.batches);
  context.set_savings(std::move(step.savings));
  return now_seconds() - asked;
}

void TranslationRun::take_empty_batch(std::int64_t size) {
  const std::vector<std::int32_t> lengths(static_cast<std::size_t>(size),
                                          static_cast<std::int32_t>(options_.sentence_words));
  take({batch_of_lengths(lengths, lengths)});
}

BatchFacts TranslationRun::batch_facts() const {
  BatchFacts facts{.lengths = {{"source", 0}, {"target", 0}}};
  for (const PairBatch& batch : batches_) {
    facts.sentences += batch.size();
    facts.words += batch.target_out.size();
    for (auto& [side, length] : facts.lengths) {
      const PackedWords& words = side == "source" ? batch.source : batch.target;
      length = std::max<std::uint64_t>(length, words.batch_sizes.size());
    }
  }
  return facts;
}

ShapeKey TranslationRun::shape_key() const {
  ShapeKey key = translation_key(batch(0));
  for (std::size_t number = 1; number < step_batches(); ++number) {
    key = translation_key(key, batch(number));
  }
  return key;
}

std::size_t TranslationRun::input_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t number = 0; number < step_batches(); ++number) {
    bytes += skyline::input_bytes(batch(number));
  }
  return bytes;
}

float TranslationRun::step(const PairBatch& batch, const UpdateParams& params) {
  take({batch});
  return step(params);
}

Evaluation TranslationRun::evaluate(std::int64_t number, const EvaluationProgress& progress) {
  TranslationQuality quality;
  {
    const Interruption interruption(context.allocator());
    quality =
        translation_quality(context, model, *data_,
                            {.batch_size = std::min(kEvaluationBatch, options_.loader.batch_size),
                             .pairs = options_.val_pairs,
                             .sample = static_cast<std::size_t>(number),
                             .shares = shares()},
                            progress);
  }
  // Gives back what the pool took for the evaluation.
  context.allocator().release_cached();
  return {.metrics = {{"bleu", quality.bleu.score()},
                      {"exact_match", quality.bleu.exact_match()},
                      {"perplexity", quality.perplexity},
                      {"validation_loss", quality.loss}},
          .text = fmt::format("{}, exact match {:.1f} %, perplexity {:.3f}", quality.bleu.text(),
                              100 * quality.bleu.exact_match(), quality.perplexity),
          .sample =
              fmt::format("  source     {}\n  answer     {}\n  reference  {}",
                          quality.sample_source, quality.sample_answer, quality.sample_reference)};
}

TranslationDryRun::TranslationDryRun(const Context::Options& context_options,
                                     const TranslationRunOptions& options, bool guard)
    : run_(new TranslationRun(dry_memory(guard), dry_context(context_options, Mode::kTraining),
                              options)),
      dry_(std::unique_ptr<ModelRun>(run_)) {}

DryRunFacts TranslationDryRun::step(std::vector<PairBatch> batches, DryRun::Graph graph) {
  run_->take(std::move(batches));
  return dry_.step(Mode::kTraining, graph);
}

}  // namespace skyline
