#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "data/text/pair_loader.h"
#include "framework/philox.h"
#include "memory/alignment.h"
#include "memory/session/tag_matcher.h"
#include "memory/trace.h"
#include "train/data_results.h"
#include "train/decide/decide.h"
#include "train/decide/live_parts.h"
#include "train/decide/step_budget.h"
#include "train/options/train_options.h"
#include "train/report/report.h"
#include "train/translation/translation_data.h"
#include "train/translation/translation_run.h"
#include "train/workload.h"

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

// Prints how many lines were used, and warns of the first line with each fault.
void tell(Console& console, const std::string& what, const TextSummary& summary) {
  console.say(what + summary.text());
  for (const std::string& fault : summary.faults) console.warn(fault);
}

// True if runs plan before their first step.
bool plans_ahead(const MemoryOptions& memory) {
  return memory.allocator == kPlannedAllocator && memory.policy == ShapePolicy::kUpperBound;
}

// Returns those of a run's first `batches` batches that no other batch covers: none has as many
// sentences and words and is as long. `loader` must be at the first batch. The order of the batches
// does not matter.
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

// The steps of a run that need the most memory, from dry runs, for policy upper-bound.
struct LongestBatches {
  LongestBatchFacts facts;
  std::size_t batch = 0;  // the one with the most live bytes
  // The traces to adopt before the first step. The step with the most live bytes is first. If one
  // plan serves all, the other steps follow that may need more in some request.
  std::vector<Trace> steps;
};

// Searches uncovered batches; all batches of a dry step are the same one. Packed steps make the
// same number of requests for all lengths, and each request grows with the words, the sentences or
// the longest sentence, so one plan for the maximum serves all batches, in whatever sequence they
// come. It is chosen if it takes at most 1 % more than the longest batch. Otherwise each batch gets
// its own plan, see PlannedPairs. Unrolled LSTMs always do, because their number of requests
// depends on the lengths.
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

// Trains a translation model on pairs of sentences.
class TranslationWorkload final : public Workload {
 public:
  TranslationWorkload(const TrainOptions& options, const LiveParts& live, Console& console)
      : options_(options),
        live_(live),
        console_(console),
        data_(open_translation_data(options.text, options.data.data, options.data.seed)),
        run_options_{.shape = seq2seq_shape(
                         options.text, static_cast<std::int64_t>(data_.vocabularies.source.size()),
                         static_cast<std::int64_t>(data_.vocabularies.target.size())),
                     .optimizer = optimizer_options(options),
                     .loader = {.batch_size = static_cast<std::size_t>(options.batch_size),
                                .bucket = options.text.bucket,
                                .step_batches = static_cast<std::size_t>(step_batches(options))},
                     .val_pairs = static_cast<std::size_t>(options.text.val_pairs),
                     .translate_words = options.text.translate_words} {
    live_.orders = context_options(options.step).orders;
    tell(console, "", data_.train_summary);
    if (data_.val_summary) tell(console, "validation: ", *data_.val_summary);
    for (const std::string& note : data_.notes) console.say(note);
    const PairLoader loader(data_.train, run_options_.loader, Philox{options.data.seed});
    facts_ = {.name = data_.name,
              .item = "sentences",
              .batches_per_epoch = static_cast<std::int64_t>(loader.batches_per_epoch()),
              .metrics = {{"bleu", "validation BLEU", MetricKind::kNumber},
                          {"exact_match", "validation exact match", MetricKind::kShare},
                          {"perplexity", "validation perplexity", MetricKind::kNumber},
                          {"validation_loss", "validation", MetricKind::kLoss}},
              .patience = "validation_loss",  // BLEU stays 0 for long
              .patience_text = "validation loss",
              .lengths_name = "longest sentence, in words",
              .uses = {"translate RUN \"TEXT\""}};
  }

  std::vector<ReportFact> facts(Mode) const override {
    const Seq2SeqShape& shape = run_options_.shape;
    return {{"pairs", std::to_string(data_.train.source.size())},
            {"words", fmt::format("{} and {}", shape.source_words, shape.target_words)},
            {"LSTMs", fmt::format("{} × {}, {}", shape.layers, shape.units,
                                  shape.unroll ? "word by word" : "packed")}};
  }
  // Text has no convolutions, so there are no engines to choose.
  StepTrial dry_step(const StepDecisions& decisions) override {
    if (!trial_ || trial_->made_for.buckets != decisions.buckets) {
      trial_.emplace(decisions, dry_run(decisions, Mode::kTraining));
    }
    TranslationDryRun& dry = trial_->run;
    dry.set_savings(decisions.savings);
    const LongestBatches longest = longest_batches(batches(), dry, run_options_.shape.unroll);
    StepTrial trial{.facts = dry.foresee({batches()[longest.batch]}, DryRun::Graph::kOn)};
    trial.reserved_bytes = reserved_bytes(options_.memory, trial.facts, longest.steps);
    return trial;
  }
  DryRunFacts longest_step(const StepDecisions& decisions, Mode mode) override {
    return dry_run(decisions, mode)
        .foresee({batches()[longest(decisions, mode).batch]}, DryRun::Graph::kOn);
  }
  using Workload::on;
  std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& given,
                               Mode mode, const MemoryWatch& watch) override {
    MemoryOptions memory = given;
    if (mode == Mode::kTraining) {
      memory = planned_in_time(
          given, [&] { return needs(decisions); }, console_);
    }
    memory.warmup_steps = decisions.warmup_steps;
    TranslationRunOptions run_options = this->run_options(decisions, watch);
    const bool ahead = plans_ahead(memory);
    run_options.plan_each_batch = ahead && !longest(decisions, mode).facts.one_plan;
    if (run_options.plan_each_batch) {
      run_options.dry_compute = make_compute(options_, decisions, live_);
    }
    auto run = std::make_unique<TranslationRun>(
        memory, context_options(options_, decisions, live_, mode), run_options, &data_);
    if (ahead) run->memory.session()->adopt(longest(decisions, mode).steps, {0, run->step_kind()});
    if (run_options.plan_each_batch && decisions.budget) {
      run->choose_from(choices_within_budget(decisions, *run->memory.session(), memory));
    }
    return run;
  }

  void save(const std::filesystem::path& folder, StoredJson& data) const override {
    data_.vocabularies.save(folder);
    store_data(data_, data);
  }
  void check_data(const StoredJson& data) const override { skyline::check_data(data_, data); }
  void resume(const std::filesystem::path& folder, const StoredJson& data) override {
    check_vocabularies(Vocabularies::open(folder), folder.string(), data);
  }
  DataResults results(const StepDecisions& decisions) override {
    return {.words = DataResults::Words{.source = data_.vocabularies.source.size(),
                                        .target = data_.vocabularies.target.size(),
                                        .pairs = data_.train.source.size()},
            .longest_batch = longest(decisions, longest_ ? longest_->mode : Mode::kTraining).facts};
  }

 private:
  // What was found of the run's steps with these decisions.
  struct Longest {
    StepDecisions decisions;
    Mode mode;
    LongestBatches batches;
  };
  struct Trial {
    StepDecisions made_for;
    TranslationDryRun run;
  };
  TranslationRunOptions run_options(const StepDecisions& decisions,
                                    const MemoryWatch& watch = {}) const {
    TranslationRunOptions options = run_options_;
    options.shares = step_shares(options_, decisions, live_);
    options.watch = watch;
    if (options.shape.unroll) options.watch.matching = Matching::kByTag;
    return options;
  }
  TranslationDryRun dry_run(const StepDecisions& decisions, Mode mode) const {
    return TranslationDryRun(context_options(options_, decisions, live_, mode),
                             run_options(decisions), options_.memory.guard);
  }
  // Returns what steps that are planned one by one may recompute: nothing, or what the longest one
  // does, or what a search finds. Tries the batches that no other covers. Throws UsageError if one
  // does not fit.
  // The session has adopted the plan of the longest step, and the budget may have room beside it.
  StepChoices choices_within_budget(const StepDecisions& decisions, const Session& session,
                                    const MemoryOptions& memory) {
    const BudgetAnswer& budget = *decisions.budget;
    const std::uint64_t most = memory.capacity_bytes.value_or(budget.budget_bytes);
    const std::uint64_t spare = most - std::min(most, budget.reserved_bytes);
    const auto dry = std::make_shared<TranslationDryRun>(dry_run(decisions, Mode::kTraining));
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
  // Returns what makes a step of these batches fit. Throws UsageError.
  // Without the profile, which may lack ops of these batches.
  Savings search_within(std::uint64_t bytes, const ProfileKey& key,
                        const std::vector<PairBatch>& batches, TranslationDryRun& dry) const {
    const PairBatch& longest = *std::ranges::max_element(batches, {}, [&](const PairBatch& batch) {
      return lower_bound_bytes(dry.trace({batch}, nullptr), kAlignmentBytes);
    });
    const auto try_step = [&](const Savings& savings, const EngineNames&) {
      dry.set_savings(savings);
      StepTrial tried{.facts = dry.foresee({longest}, DryRun::Graph::kOn)};
      tried.reserved_bytes = reserved_bytes(options_.memory, tried.facts, {&tried.facts.trace, 1});
      return tried;
    };
    StepBudget budget({.trial = try_step,
                       .seconds = step_seconds({}, key),
                       .freedom = {.in_place = options_.step.in_place}});
    return budget.within(bytes).savings;
  }
  // The first step of another length runs beside the plans of those before.
  PlanNeeds needs(const StepDecisions& decisions) {
    PlanNeeds needs{.longest = longest_step(decisions, Mode::kTraining),
                    .steps = longest(decisions, Mode::kTraining).steps};
    needs.beside = needs.longest.trace;
    return needs;
  }
  // Searched for on the first call.
  const std::vector<PairBatch>& batches() {
    if (batches_) return *batches_;
    const std::int64_t batches = options_.steps ? *options_.steps * step_batches(options_)
                                                : options_.epochs * facts_.batches_per_epoch;
    PairLoader loader(data_.train, run_options_.loader, Philox{options_.data.seed});
    return batches_.emplace(uncovered_batches(loader, batches));
  }
  const LongestBatches& longest(const StepDecisions& decisions, Mode mode) {
    const bool known = longest_ && longest_->mode == mode &&
                       longest_->decisions.buckets == decisions.buckets &&
                       longest_->decisions.savings == decisions.savings;
    if (known) return longest_->batches;
    TranslationDryRun dry = dry_run(decisions, mode);
    longest_ = Longest{decisions, mode, longest_batches(batches(), dry, run_options_.shape.unroll)};
    if (plans_ahead(options_.memory)) {
      console_.say(longest_batch_text(longest_->batches.facts));
    }
    return longest_->batches;
  }

  TrainOptions options_;
  LiveParts live_;
  Console& console_;
  TranslationData data_;
  TranslationRunOptions run_options_;
  std::optional<std::vector<PairBatch>> batches_;
  std::optional<Longest> longest_;
  std::optional<Trial> trial_;
};

}  // namespace

std::unique_ptr<Workload> translation_workload(const TrainOptions& options, const LiveParts& live,
                                               Console& console) {
  return std::make_unique<TranslationWorkload>(options, live, console);
}

}  // namespace skyline
