#include "train/translation/translation_run.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <numeric>

#include "data/text/vocabulary.h"
#include "framework/philox.h"
#include "memory/alignment.h"
#include "memory/now_seconds.h"
#include "train/run/step_scope.h"
#include "train/translation/translation_evaluation.h"
#include "train/translation/translator.h"

namespace skyline {
namespace {

constexpr std::size_t kEvaluationBatch = 100;  // at most; as in the paper

// FNV-1a with 64 bits, one number at a time.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  return (hash ^ number) * 0x100000001b3u;
}

}  // namespace

ShapeKey translation_key(const PairBatch& batch, StepKind kind) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const PackedWords* side : {&batch.source, &batch.target}) {
    for (const std::int32_t size : side->batch_sizes) {
      hash = mixed(hash, static_cast<std::uint64_t>(size));
    }
    hash = mixed(hash, 0);
  }
  return {hash, kind};
}

ShapeKey translation_key(ShapeKey before, const PairBatch& batch) {
  return {mixed(before.shape, translation_key(batch).shape), before.kind};
}

std::size_t input_bytes(const PairBatch& batch) {
  std::size_t bytes = 0;
  for (const auto* words : {&batch.source.words, &batch.target.words, &batch.target_out}) {
    bytes += word_bytes(words->size());
  }
  return bytes;
}

Tensor translation_loss(Context& context, const Seq2Seq& model, const PairBatch& batch,
                        bool accumulate) {
  Tensor source = upload_words(context, batch.source.words, "source");
  Tensor target = upload_words(context, batch.target.words, "target");
  Tensor answers = upload_words(context, batch.target_out, "answers");
  LstmState state = model.encode(context, std::move(source), PackedShape(batch.source.batch_sizes));
  state = model.reordered(context, std::move(state), batch.source_to_target);
  LstmOutput decoded = model.decode(context, std::move(state), std::move(target),
                                    PackedShape(batch.target.batch_sizes), LstmWanted::kOutputs);
  return model.loss(context, std::move(decoded.y), std::move(answers),
                    {.divisor = static_cast<float>(batch.size())}, accumulate);
}

PairBatch batch_of_lengths(std::span<const std::int32_t> source_lengths,
                           std::span<const std::int32_t> target_lengths) {
  PairBatch batch;
  batch.source = pack_lengths(source_lengths, kUnknownWord);
  std::vector<std::int32_t> with_mark(target_lengths.begin(), target_lengths.end());
  for (std::int32_t& length : with_mark) ++length;
  batch.target = pack_lengths(with_mark, kUnknownWord);
  batch.target_out = batch.target.words;
  batch.source_to_target = rows_between(batch.source.order, batch.target.order);
  batch.pairs.resize(source_lengths.size());
  std::iota(batch.pairs.begin(), batch.pairs.end(), std::size_t{0});
  return batch;
}

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
  loader.share = shares().of_data();
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
  pairs_.emplace(PairLoader(data_->train, loader, Philox{seed}), step_batches(),
                 options_.plan_each_batch ? memory.session() : nullptr, choices_,
                 std::move(dry_step), step_kind());
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

float TranslationRun::inference_step() {
  const ShapeKey key = translation_key(batch(0), StepKind::kInference);
  if (options_.translate_words == 0) return inference_loss_step(key);
  StepScope step(context, key);
  const auto answers = translate(context, model, batch(0).source,
                                 {.max_words = options_.translate_words, .stop_at_end = false});
  step.end();
  double words = 0, sum = 0;
  for (const std::vector<std::int32_t>& answer : answers) {
    words += static_cast<double>(answer.size());
    sum += std::accumulate(answer.begin(), answer.end(), 0.0);
  }
  return words > 0 ? static_cast<float>(sum / words) : 0;
}

float TranslationRun::train_step(const PairBatch& batch, const UpdateParams& params) {
  take({batch});
  return train_step(params);
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
    : mode_(context_options.mode),
      run_(new TranslationRun(dry_memory(guard), dry_context(context_options, mode_), options)),
      dry_(std::unique_ptr<ModelRun>(run_)) {}

DryRunFacts TranslationDryRun::foresee(std::vector<PairBatch> batches, DryRun::Graph graph) {
  run_->take(std::move(batches));
  return dry_.foresee(mode_, graph);
}

PlannedChoice first_that_fits(const std::vector<PairBatch>& batches, const StepChoices& choices,
                              const DryPairStep& dry_step, const Session& session) {
  for (const Savings& savings : choices.savings) {
    const Trace trace = dry_step(batches, savings);
    if (lower_bound_bytes(trace, kAlignmentBytes) > choices.plan_bytes) continue;
    StepPlan plan = session.plan_for({&trace, 1});
    if (plan.plan.peak <= choices.plan_bytes) return {savings, std::move(plan)};
  }
  Savings found = choices.search(batches);
  const Trace trace = dry_step(batches, found);
  return {std::move(found), session.plan_for({&trace, 1})};
}

PlannedPairs::PlannedPairs(PairLoader loader, std::size_t step_batches, Session* session,
                           StepChoices choices, DryPairStep dry_step, StepKind kind)
    : loader_(std::move(loader)),
      step_batches_(step_batches),
      session_(session),
      choices_(std::move(choices)),
      dry_step_(std::move(dry_step)),
      kind_(kind) {}

std::vector<PairBatch> PlannedPairs::read() {
  std::vector<PairBatch> batches;
  while (batches.size() < step_batches_) batches.push_back(loader_.next());
  return batches;
}

PlannedPairs::Step PlannedPairs::next() {
  if (session_ == nullptr) return {read(), choices_.savings.front()};
  Coming now = coming_ ? *std::exchange(coming_, std::nullopt) : prepare();
  PlannedChoice choice = now.choice.get();
  session_->adopt_plan(std::move(choice.plan), {0, kind_});
  // The next step is planned while the caller runs this one.
  coming_ = prepare();
  return {std::move(now.batches), std::move(choice.savings)};
}

PlannedPairs::Coming PlannedPairs::prepare() {
  std::vector<PairBatch> batches = read();
  // Workspace sizes depend on the number of threads, and OpenMP keeps that setting per thread.
  const auto plan = [this, batches, threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    return first_that_fits(batches, choices_, dry_step_, *session_);
  };
  // If no second thread can be started, get() makes the plan.
  return {std::move(batches), std::async(std::launch::async | std::launch::deferred, plan)};
}

}  // namespace skyline
