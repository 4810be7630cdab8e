#include "train/translation/translation_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/alignment.h"
#include "memory/session/tag_matcher.h"
#include "train/cli/byte_sizes.h"
#include "train/decide/decide.h"
#include "train/report/report.h"
#include "train/run/random_bits.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostBatches = 1'000'000;  // search limit: under a minute
constexpr double kOnePlanShare = 0.01;            // extra memory that one plan may take

// A step's request sizes grow with these numbers; in unrolled LSTMs the number of requests does
// too.
using Extents = std::array<std::size_t, 7>;

std::size_t different_lengths(const PackedWords& side) {
  std::size_t count = 1;
  for (std::size_t t = 1; t < side.batch_sizes.size(); ++t) {
    if (side.batch_sizes[t] < side.batch_sizes[t - 1]) ++count;
  }
  return count;
}

Extents extents_of(const PairBatch& batch) {
  const PackedWords &source = batch.source, &target = batch.target;
  return {batch.size(),
          source.words.size(),
          target.words.size(),
          source.batch_sizes.size(),
          target.batch_sizes.size(),
          different_lengths(source),
          different_lengths(target)};
}

// True if no extent of `one` is smaller than in `other`.
bool covers(const Extents& one, const Extents& other) {
  return std::ranges::equal(one, other, std::greater_equal());
}

}  // namespace

std::vector<PairBatch> uncovered_batches(PairLoader& loader, std::int64_t batches) {
  std::vector<PairBatch> found;
  for (std::int64_t batch = 0; batch < std::min(batches, kMostBatches); ++batch) {
    PairBatch next = loader.next();
    const Extents extents = extents_of(next);
    const auto covers_next = [&](const PairBatch& one) { return covers(extents_of(one), extents); };
    if (std::ranges::any_of(found, covers_next)) continue;
    std::erase_if(found, [&](const PairBatch& one) { return covers(extents, extents_of(one)); });
    found.push_back(std::move(next));
  }
  return found;
}

LongestBatches longest_batches(const std::vector<PairBatch>& batches, TranslationDryRun& dry,
                               bool unrolled) {
  LongestBatches longest;
  LongestBatchFacts& facts = longest.facts;
  StepRecording all{.requests = {},
                    .matching = unrolled ? Matching::kByTag : Matching::kByPosition};
  for (std::size_t batch = 0; batch < batches.size(); ++batch) {
    Trace trace = dry.trace({batches[batch]});
    all = joined(std::move(all), requests_of(trace));
    const std::uint64_t live_bytes = lower_bound_bytes(trace, kAlignmentBytes);
    const bool longer =
        live_bytes > std::exchange(facts.live_bytes, std::max(facts.live_bytes, live_bytes));
    if (longer) longest.batch = batch;
    longest.steps.insert(longer ? longest.steps.begin() : longest.steps.end(), std::move(trace));
    if (unrolled) longest.steps.resize(1);  // traces are large, and only the first is adopted
  }
  facts.one_plan_bytes = lower_bound_bytes(canonical_step(all.requests).trace, kAlignmentBytes);
  facts.one_plan = !unrolled && facts.share_above() <= kOnePlanShare;
  if (!facts.one_plan) longest.steps.resize(1);
  return longest;
}

namespace {

// Prints how many lines were used, and warns of the first line with each fault.
void tell(Console& console, const std::string& what, const TextSummary& summary) {
  console.say(what + summary.text());
  for (const std::string& fault : summary.faults) console.warn(fault);
}

// True if runs plan before their first step.
bool plans_ahead(const MemoryOptions& memory) {
  return memory.allocator == kPlannedAllocator && memory.policy == ShapePolicy::kUpperBound;
}

}  // namespace

TranslationWorkload::TranslationWorkload(const TrainOptions& options, const LiveParts& live,
                                         Console& console)
    : options_(options),
      live_(live),
      console_(console),
      data_(open_translation_data(options.translation, options.data.data, options.data.seed)),
      run_options_{
          .shape = seq2seq_shape(options.translation,
                                 static_cast<std::int64_t>(data_.vocabularies.source.size()),
                                 static_cast<std::int64_t>(data_.vocabularies.target.size())),
          .optimizer = optimizer_options(options),
          .loader = {.batch_size = static_cast<std::size_t>(options.batch_size),
                     .bucket = options.translation.bucket,
                     .step_batches = static_cast<std::size_t>(step_batches(options))},
          .val_pairs = static_cast<std::size_t>(options.translation.val_pairs)} {
  live_.orders = context_options(options.step).orders;
  tell(console, "", data_.train_summary);
  if (data_.val_summary) tell(console, "validation: ", *data_.val_summary);
  const PairLoader loader(data_.train, run_options_.loader, random_bits(options.data.seed));
  facts_ = {.name = data_.name,
            .item = "sentences",
            .batches_per_epoch = static_cast<std::int64_t>(loader.batches_per_epoch()),
            .metrics = {{"bleu", "validation BLEU", MetricKind::kNumber},
                        {"exact_match", "validation exact match", MetricKind::kShare},
                        {"perplexity", "validation perplexity", MetricKind::kNumber},
                        {"validation_loss", "validation", MetricKind::kLoss}},
            .lengths_name = "longest sentence, in words"};
}

std::vector<ReportFact> TranslationWorkload::facts(Mode) const {
  const Seq2SeqShape& shape = run_options_.shape;
  return {{"pairs", std::to_string(data_.train.source.size())},
          {"words", fmt::format("{} and {}", shape.source_words, shape.target_words)},
          {"LSTMs", fmt::format("{} × {}, {}", shape.layers, shape.units,
                                shape.unroll ? "word by word" : "packed")}};
}

TranslationRunOptions TranslationWorkload::run_options(const StepDecisions& decisions,
                                                       const MemoryWatch& watch) const {
  TranslationRunOptions options = run_options_;
  options.shares = step_shares(options_, decisions, live_);
  options.watch = watch;
  return options;
}

TranslationDryRun TranslationWorkload::dry_run(const StepDecisions& decisions) const {
  return TranslationDryRun(context_options(options_, decisions, live_, Mode::kTraining),
                           run_options(decisions), options_.memory.guard);
}

const std::vector<PairBatch>& TranslationWorkload::batches() {
  if (batches_) return *batches_;
  const std::int64_t batches = options_.steps ? *options_.steps * step_batches(options_)
                                              : options_.epochs * facts_.batches_per_epoch;
  PairLoader loader(data_.train, run_options_.loader, random_bits(options_.data.seed));
  return batches_.emplace(uncovered_batches(loader, batches));
}

const LongestBatches& TranslationWorkload::longest(const StepDecisions& decisions) {
  const bool known =
      longest_ && longest_->buckets == decisions.buckets && longest_->savings == decisions.savings;
  if (known) return longest_->batches;
  TranslationDryRun dry = dry_run(decisions);
  longest_ = Longest{decisions.buckets, decisions.savings,
                     longest_batches(batches(), dry, run_options_.shape.unroll)};
  if (plans_ahead(options_.memory)) {
    console_.say(longest_batch_text(longest_->batches.facts));
  }
  return longest_->batches;
}

// Text has no convolutions, so there are no engines to choose.
StepTrial TranslationWorkload::dry_step(const StepDecisions& decisions) {
  if (!trial_ || trial_->buckets != decisions.buckets) {
    trial_.emplace(decisions.buckets, dry_run(decisions));
  }
  TranslationDryRun& dry = trial_->run;
  dry.set_savings(decisions.savings);
  const LongestBatches longest = longest_batches(batches(), dry, run_options_.shape.unroll);
  StepTrial trial{.facts = dry.step({batches()[longest.batch]}, DryRun::Graph::kOn)};
  trial.reserved_bytes = reserved_bytes(options_.memory, trial.facts, longest.steps);
  return trial;
}

// Dry runs are of training.
std::unique_ptr<ModelRun> TranslationWorkload::on(const StepDecisions& decisions,
                                                  const MemoryOptions& given, Mode mode,
                                                  const MemoryWatch& watch) {
  MemoryOptions memory = given;
  if (mode == Mode::kTraining) {
    memory = planned_in_time(
        given, [&] { return needs(decisions); }, console_);
  }
  memory.warmup_steps = decisions.warmup_steps;
  TranslationRunOptions run_options = this->run_options(decisions, watch);
  const bool ahead = plans_ahead(memory);
  run_options.plan_each_batch = ahead && !longest(decisions).facts.one_plan;
  if (run_options.plan_each_batch) {
    run_options.dry_compute =
        make_compute(options_.memory.device, options_.device, live_, decisions.lanes);
  }
  auto run = std::make_unique<TranslationRun>(
      memory, context_options(options_, decisions, live_, mode), run_options, &data_);
  if (ahead) run->memory.session()->adopt(longest(decisions).steps);
  if (run_options.plan_each_batch && decisions.budget) {
    run->choose_from(choices_within_budget(decisions, *run->memory.session(), memory));
  }
  return run;
}

// The session has adopted the plan of the longest step, and the budget may have room beside it.
StepChoices TranslationWorkload::choices_within_budget(const StepDecisions& decisions,
                                                       const Session& session,
                                                       const MemoryOptions& memory) {
  const BudgetAnswer& budget = *decisions.budget;
  const std::uint64_t most = memory.capacity_bytes.value_or(budget.budget_bytes);
  const std::uint64_t spare = most - std::min(most, budget.reserved_bytes);
  const auto dry = std::make_shared<TranslationDryRun>(dry_run(decisions));
  const std::size_t commit = commit_bytes(memory);
  StepChoices choices{.savings = {nullptr, budget.savings},
                      .plan_bytes = session.arena_bytes() + spare / commit * commit,
                      .search = [this, most, dry, key = profile_key(options_, decisions)](
                                    const std::vector<PairBatch>& batches) {
                        return search_within(most, key, batches, *dry);
                      }};
  const auto dry_step = [dry](const std::vector<PairBatch>& step, const Savings& savings) {
    return dry->trace(step, savings);
  };
  for (const PairBatch& batch : batches()) first_that_fits({batch}, choices, dry_step, session);
  return choices;
}

// Without the profile, which may lack ops of these batches.
Savings TranslationWorkload::search_within(std::uint64_t bytes, const ProfileKey& key,
                                           const std::vector<PairBatch>& batches,
                                           TranslationDryRun& dry) const {
  const PairBatch& longest = *std::ranges::max_element(batches, {}, [&](const PairBatch& batch) {
    return lower_bound_bytes(dry.trace({batch}, nullptr), kAlignmentBytes);
  });
  const auto try_step = [&](const Savings& savings, const EngineNames&) {
    dry.set_savings(savings);
    StepTrial tried{.facts = dry.step({longest}, DryRun::Graph::kOn)};
    tried.reserved_bytes = reserved_bytes(options_.memory, tried.facts, {&tried.facts.trace, 1});
    return tried;
  };
  StepBudget budget({.trial = try_step,
                     .seconds = step_seconds({}, key),
                     .freedom = {.in_place = options_.step.in_place}});
  return budget.within(bytes).savings;
}

DryRunFacts TranslationWorkload::longest_step(const StepDecisions& decisions, Mode) {
  return dry_run(decisions).step({batches()[longest(decisions).batch]}, DryRun::Graph::kOn);
}

// The first step of another length runs beside the plans of those before.
PlanNeeds TranslationWorkload::needs(const StepDecisions& decisions) {
  PlanNeeds needs{.longest = longest_step(decisions, Mode::kTraining),
                  .steps = longest(decisions).steps};
  needs.beside = needs.longest.trace;
  return needs;
}

void TranslationWorkload::save(const std::filesystem::path& folder, StoredJson& data) const {
  data_.vocabularies.save(folder);
  store_data(data_, data);
}

void TranslationWorkload::check_data(const StoredJson& data) const {
  skyline::check_data(data_, data);
}

void TranslationWorkload::resume(const std::filesystem::path& folder, const StoredJson& data) {
  check_vocabularies(Vocabularies::open(folder), folder.string(), data);
}

DataResults TranslationWorkload::results(const StepDecisions& decisions) {
  return {.words = DataResults::Words{.source = data_.vocabularies.source.size(),
                                      .target = data_.vocabularies.target.size(),
                                      .pairs = data_.train.source.size()},
          .longest_batch = longest(decisions).facts};
}

}  // namespace skyline
