#include "train/translation/translation_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "memory/alignment.h"
#include "train/run/random_bits.h"

namespace skyline {
namespace {

// Prints how many lines were used, and warns of the first line with each fault.
void tell(Console& console, const std::string& what, const TextSummary& summary) {
  console.say(what + summary.text());
  for (const std::string& fault : summary.faults) console.warn(fault);
}

}  // namespace

TranslationWorkload::TranslationWorkload(const TrainOptions& options, Console& console)
    : Workload(options, console),
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
  tell(console, "", data_.train_summary);
  if (data_.val_summary) tell(console, "validation: ", *data_.val_summary);
  batches_per_epoch_ = static_cast<std::int64_t>(
      PairLoader(data_.train, run_options_.loader, random_bits(options.data.seed))
          .batches_per_epoch());
}

std::vector<ReportFact> TranslationWorkload::facts(Mode) const {
  const Seq2SeqShape& shape = run_options_.shape;
  return {{"pairs", std::to_string(data_.train.source.size())},
          {"words", fmt::format("{} and {}", shape.source_words, shape.target_words)},
          {"LSTMs", fmt::format("{} × {}, {}", shape.layers, shape.units,
                                shape.unroll ? "word by word" : "packed")}};
}

TranslationRunOptions TranslationWorkload::run_options() const {
  TranslationRunOptions options = run_options_;
  options.shares = shares();
  return options;
}

const std::vector<PairBatch>& TranslationWorkload::batches() {
  if (batches_) return *batches_;
  const std::int64_t batches = options_.steps ? *options_.steps * step_batches(options_)
                                              : options_.epochs * batches_per_epoch_;
  PairLoader loader(data_.train, run_options_.loader, random_bits(options_.data.seed));
  return batches_.emplace(uncovered_batches(loader, batches));
}

bool TranslationWorkload::plans_ahead(const MemoryOptions& memory) {
  return memory.allocator == kPlannedAllocator && memory.policy == ShapePolicy::kUpperBound;
}

const LongestBatches& TranslationWorkload::longest() {
  if (longest_) return *longest_;
  TranslationDryRun dry(context(Mode::kTraining), run_options(), options_.memory.guard);
  longest_ = longest_batches(batches(), dry, run_options_.shape.unroll);
  if (plans_ahead(options_.memory)) console_.say(longest_batch_text(longest_->facts));
  return *longest_;
}

// Text has no convolutions, so there are no engines to choose.
StepTrial TranslationWorkload::trial(const Savings& savings, bool) {
  if (!trial_) trial_.emplace(context(Mode::kTraining), run_options(), options_.memory.guard);
  trial_->set_savings(savings);
  const LongestBatches longest = longest_batches(batches(), *trial_, run_options_.shape.unroll);
  StepTrial trial{.facts = trial_->step({batches()[longest.batch]}, DryRun::Graph::kOn)};
  trial.reserved_bytes = reserved_bytes(trial.facts, longest.steps);
  return trial;
}

std::unique_ptr<ModelRun> TranslationWorkload::make_run(const MemoryOptions& memory, Mode mode) {
  TranslationRunOptions run_options = this->run_options();
  const bool ahead = plans_ahead(memory);
  run_options.plan_each_batch = ahead && !longest().facts.one_plan;
  if (run_options.plan_each_batch) {
    run_options.dry_compute = make_compute(options_.memory.device, options_.device);
  }
  auto run = std::make_unique<TranslationRun>(memory, context(mode), run_options, &data_);
  if (ahead) run->memory.session()->adopt(longest().steps);
  if (run_options.plan_each_batch && budget()) {
    run->choose_from(choices_within_budget(*run->memory.session(), memory));
  }
  return run;
}

// The session has adopted the plan of the longest step, and the budget may have room beside it.
StepChoices TranslationWorkload::choices_within_budget(const Session& session,
                                                       const MemoryOptions& memory) {
  const std::uint64_t most = memory.capacity_bytes.value_or(budget()->budget_bytes);
  const std::uint64_t spare = most - std::min(most, budget()->reserved_bytes);
  const auto dry = std::make_shared<TranslationDryRun>(context(Mode::kTraining), run_options(),
                                                       options_.memory.guard);
  StepChoices choices{.savings = {nullptr, budget()->savings},
                      .plan_bytes = session.arena_bytes() + spare / commit_bytes() * commit_bytes(),
                      .search = [this, most, dry](const std::vector<PairBatch>& batches) {
                        return search_within(most, batches, *dry);
                      }};
  const auto dry_step = [dry](const std::vector<PairBatch>& step, const Savings& savings) {
    return dry->trace(step, savings);
  };
  for (const PairBatch& batch : batches()) first_that_fits({batch}, choices, dry_step, session);
  return choices;
}

// Without the profile, which may lack ops of these batches.
Savings TranslationWorkload::search_within(std::uint64_t bytes,
                                           const std::vector<PairBatch>& batches,
                                           TranslationDryRun& dry) const {
  const PairBatch& longest = *std::ranges::max_element(batches, {}, [&](const PairBatch& batch) {
    return lower_bound_bytes(dry.trace({batch}, nullptr), kAlignmentBytes);
  });
  const auto try_step = [&](const Savings& savings, const EngineNames&) {
    dry.set_savings(savings);
    StepTrial tried{.facts = dry.step({longest}, DryRun::Graph::kOn)};
    tried.reserved_bytes = reserved_bytes(tried.facts, {&tried.facts.trace, 1});
    return tried;
  };
  StepBudget budget({.trial = try_step,
                     .seconds = step_seconds({}, profile_key()),
                     .freedom = {.in_place = options_.step.in_place}});
  return budget.within(bytes).savings;
}

DryRunFacts TranslationWorkload::longest_step(Mode) {
  TranslationDryRun dry(context(Mode::kTraining), run_options(), options_.memory.guard);
  return dry.step({batches()[longest().batch]}, DryRun::Graph::kOn);
}

// The first step of another length runs beside the plans of those before. Dry runs are of training.
std::optional<Workload::Needs> TranslationWorkload::needs(Mode mode) {
  if (mode == Mode::kInference) return {};
  Needs needs{.longest = longest_step(mode), .steps = longest().steps, .beside = {}};
  needs.beside = needs.longest.trace;
  return needs;
}

void TranslationWorkload::save(const std::filesystem::path& folder,
                               TrainingPosition& position) const {
  data_.vocabularies.save(folder);
  store_data(data_, position);
}

void TranslationWorkload::check_data(const TrainingPosition& position) const {
  skyline::check_data(data_, position);
}

void TranslationWorkload::resume(const std::filesystem::path& folder,
                                 const TrainingPosition& position) {
  check_vocabularies(Vocabularies::open(folder), folder.string(), position);
}

void TranslationWorkload::add_facts(nlohmann::ordered_json& json, std::string& text) {
  json["source_words"] = data_.vocabularies.source.size();
  json["target_words"] = data_.vocabularies.target.size();
  json["pairs"] = data_.train.source.size();
  if (!longest_ || !plans_ahead(options_.memory)) return;
  json["longest_batch"] = to_json(longest_->facts);
  text += longest_batch_text(longest_->facts) + "\n";
}

}  // namespace skyline
