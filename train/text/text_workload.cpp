#include <fmt/format.h>

#include <optional>
#include <utility>

#include "data/text/text_windows.h"
#include "memory/alignment.h"
#include "train/checkpoints/files.h"
#include "train/data_results.h"
#include "train/decide/decide.h"
#include "train/decide/live_parts.h"
#include "train/decide/step_budget.h"
#include "train/report/report.h"
#include "train/run/dry_run.h"
#include "train/run/random_bits.h"
#include "train/text/text_data.h"
#include "train/text/text_run.h"
#include "train/workload.h"

namespace skyline {
namespace {

// Trains a model that goes on with a text.
class TextWorkload final : public Workload {
 public:
  TextWorkload(const TrainOptions& options, const LiveParts& live, Console& console)
      : options_(options),
        live_(live),
        console_(console),
        text_(open_text(options)),
        run_options_{.shape = gpt_shape(options.model, options.translation, options.gpt,
                                        static_cast<std::int64_t>(text_.vocabulary)),
                     .length = static_cast<std::size_t>(window_length(options.model, options.gpt)),
                     .optimizer = optimizer_options(options),
                     .batch_size = static_cast<std::size_t>(options.batch_size)} {
    live_.orders = context_options(options.step).orders;
    const WindowLoader loader(text_.name, text_.training(),
                              {.batch_size = run_options_.batch_size,
                               .length = run_options_.length,
                               .step_batches = static_cast<std::size_t>(step_batches(options))},
                              random_bits(options.data.seed));
    const bool has_characters = text_.characters.size() > 0;
    facts_ = {.name = std::filesystem::path(text_.name).filename().string(),
              .item = "windows",
              .batches_per_epoch = static_cast<std::int64_t>(loader.batches_per_epoch()),
              .metrics = {{"test_loss", "test", MetricKind::kLoss},
                          {"perplexity", "test perplexity", MetricKind::kNumber},
                          {"bits", has_characters ? "bits a character" : "bits a word",
                           MetricKind::kNumber}},
              .patience = "test_loss",
              .patience_text = "test loss",
              .lengths_name = {},
              .uses = {"generate RUN --prompt TEXT", "evaluate RUN"}};
    console.say(fmt::format(
        "{}: {} {} of {} different ones to train with, {} windows of {} to validate", facts_.name,
        text_.training().size(), has_characters ? "characters" : "words", text_.vocabulary,
        windows_of(text_.validation(), run_options_.length), run_options_.length));
    if (options.memory.device == "cpu" && !options.step.memory_bytes) require_memory();
  }

  std::vector<ReportFact> facts(Mode) const override {
    const GptShape& shape = run_options_.shape;
    return {{"text", fmt::format("{} words of {}", text_.words.size(), text_.vocabulary)},
            {"windows", fmt::format("{} words", run_options_.length)},
            {"layers", fmt::format("{} × {}, {} heads", shape.layers, shape.units, shape.heads)}};
  }
  StepTrial dry_step(const StepDecisions& decisions) override {
    if (!trial_ || trial_->made_for.buckets != decisions.buckets) {
      trial_.emplace(decisions, dry_run(decisions, Mode::kTraining));
    }
    trial_->run.set_savings(decisions.savings);
    StepTrial trial{
        .facts = trial_->run.foresee(options_.batch_size, Mode::kTraining, DryRun::Graph::kOn)};
    trial.reserved_bytes = reserved_bytes(options_.memory, trial.facts, {&trial.facts.trace, 1});
    return trial;
  }
  DryRunFacts longest_step(const StepDecisions& decisions, Mode mode) override {
    return dry_run(decisions, mode).foresee(options_.batch_size, mode, DryRun::Graph::kOn);
  }
  using Workload::on;
  std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& given,
                               Mode mode, const MemoryWatch& watch) override {
    const auto needs = [&] {
      PlanNeeds found{.longest = longest_step(decisions, mode)};
      found.steps.push_back(found.longest.trace);
      return found;
    };
    MemoryOptions memory = planned_in_time(given, needs, console_);
    memory.warmup_steps = decisions.warmup_steps;
    auto run = std::make_unique<TextRun>(memory, context_options(options_, decisions, live_, mode),
                                         run_options(decisions, watch), &text_);
    if (memory.policy == ShapePolicy::kUpperBound && run->memory.session() != nullptr) {
      run->memory.session()->adopt(longest_step(decisions, mode).trace,
                                   {run_options_.batch_size, run->step_kind()});
    }
    return run;
  }

  void save(const std::filesystem::path& folder, StoredJson& data) const override {
    if (text_.characters.size() > 0) {
      write_atomically(folder / kCharactersFile, text_.characters.file_text());
    }
    store_data(text_, data);
  }
  void check_data(const StoredJson& data) const override { skyline::check_data(text_, data); }
  void resume(const std::filesystem::path& folder, const StoredJson& data) override {
    if (text_.characters.size() == 0) return;
    check_characters(CharacterSet::open(folder / kCharactersFile), folder.string(), data);
  }
  DataResults results(const StepDecisions&) override { return {}; }

 private:
  struct Trial {
    StepDecisions made_for;
    DryRun run;
  };
  TextRunOptions run_options(const StepDecisions& decisions, const MemoryWatch& watch = {}) const {
    TextRunOptions options = run_options_;
    options.shares = step_shares(options_, decisions, live_);
    options.watch = watch;
    return options;
  }
  DryRun dry_run(const StepDecisions& decisions, Mode mode) const {
    return DryRun(std::make_unique<TextRun>(
        dry_memory(options_.memory.guard),
        dry_context(context_options(options_, decisions, live_, mode), mode),
        run_options(decisions)));
  }
  // A step that the machine cannot hold would be ended by the system without a word.
  void require_memory() {
    const DryRunFacts step = longest_step(as_said(options_), Mode::kTraining);
    require_host_memory(facts_.name,
                        fmt::format("training {} with batches of {} windows (--memory, "
                                    "--micro-batches or a smaller --batch-size take less)",
                                    options_.model, options_.batch_size),
                        step.resident_bytes + lower_bound_bytes(step.trace, kAlignmentBytes));
  }

  TrainOptions options_;
  LiveParts live_;
  Console& console_;
  TextStream text_;
  TextRunOptions run_options_;
  std::optional<Trial> trial_;
};

}  // namespace

std::unique_ptr<Workload> text_workload(const TrainOptions& options, const LiveParts& live,
                                        Console& console) {
  return std::make_unique<TextWorkload>(options, live, console);
}

}  // namespace skyline
