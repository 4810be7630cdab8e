#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "data/host.h"
#include "memory/alignment.h"
#include "train/decide/decide.h"
#include "train/decide/engines.h"
#include "train/decide/live_parts.h"
#include "train/workload.h"

namespace skyline {

// A workload whose batches all have one size, so that all of its steps need the same memory.
class EvenWorkload : public Workload {
 public:
  StepTrial dry_step(const StepDecisions& decisions) override {
    const Mode mode = Mode::kTraining;
    if (!trial_ || trial_->made_for.buckets != decisions.buckets ||
        trial_->made_for.prefetch != decisions.prefetch) {
      LiveParts live = live_;
      // No trial takes other engines on a CUDA device, where choosing them takes time.
      if (options_.memory.device == "cpu") {
        live.engines = std::make_shared<EngineChoices>(*live_.engines);
      }
      DryRun run = dry_run(decisions, live, mode);
      trial_.emplace(decisions, live, TriedEngines(live.engines), std::move(run));
    }
    trial_->run.set_savings(decisions.savings);
    if (trial_->engines.choose(decisions.engines)) trial_->run.forget_kernels();
    StepTrial trial{.facts = trial_->run.foresee(options_.batch_size, mode, DryRun::Graph::kOn)};
    trial.reserved_bytes = reserved_bytes(options_.memory, trial.facts, {&trial.facts.trace, 1});
    live_.engines->above_peak = trial_->live.engines->above_peak;  // the same for all decisions
    return trial;
  }
  DryRunFacts longest_step(const StepDecisions& decisions, Mode mode) override {
    return dry_run(decisions, live_, mode).foresee(options_.batch_size, mode, DryRun::Graph::kOn);
  }
  using Workload::on;
  // The engines of a budget are entered once, so that they are saved with the others.
  std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& given,
                               Mode mode, const MemoryWatch& watch) override {
    trial_.reset();  // the run needs its memory
    TriedEngines(live_.engines).choose(decisions.engines);
    MemoryOptions memory = planned_in_time(
        given, [&] { return needs(decisions, mode); }, console_);
    memory.warmup_steps = decisions.warmup_steps;
    auto run = make_run(memory, context_options(options_, decisions, live_, mode),
                        step_shares(options_, decisions, live_), watch);
    if (memory.policy == ShapePolicy::kUpperBound && run->memory.session() != nullptr) {
      const auto samples = static_cast<std::uint64_t>(options_.batch_size);
      run->memory.session()->adopt(longest_step(decisions, mode).trace,
                                   {samples, run->step_kind()});
    }
    return run;
  }

 protected:
  EvenWorkload(const TrainOptions& options, const LiveParts& live, Console& console)
      : options_(options), live_(live), console_(console) {
    live_.orders = context_options(options.step).orders;
  }

  virtual std::unique_ptr<ModelRun> make_run(const MemoryOptions& memory,
                                             const Context::Options& context,
                                             const StepShares& shares,
                                             const MemoryWatch& watch) const = 0;
  virtual PlanNeeds needs(const StepDecisions& decisions, Mode mode) const {
    PlanNeeds needs{.longest = dry_run(decisions, live_, mode).foresee(options_.batch_size, mode)};
    needs.steps.push_back(needs.longest.trace);
    return needs;
  }
  DryRun dry_run(const StepDecisions& decisions, const LiveParts& live, Mode mode) const {
    return DryRun(make_run(dry_memory(options_.memory.guard),
                           dry_context(context_options(options_, decisions, live, mode), mode),
                           step_shares(options_, decisions, live), {}));
  }
  // A step that the machine cannot hold would be ended by the system without a word. `training`
  // says what takes place; `batches_bytes` lie beside it on the host.
  void require_memory(const std::string& training, std::uint64_t batches_bytes = 0) const {
    if (options_.memory.device != "cpu" || options_.step.memory_bytes) return;
    const DryRunFacts step = dry_run(as_said(options_), live_, Mode::kTraining)
                                 .foresee(options_.batch_size, Mode::kTraining);
    require_host_memory(
        facts_.name,
        fmt::format("{} with batches of {} {} (--memory, --micro-batches or a "
                    "smaller --batch-size take less)",
                    training, options_.batch_size, facts_.item),
        step.resident_bytes + lower_bound_bytes(step.trace, kAlignmentBytes) + batches_bytes);
  }

  TrainOptions options_;
  LiveParts live_;
  Console& console_;

 private:
  // Dry steps with engine choices of their own.
  struct Trial {
    StepDecisions made_for;
    LiveParts live;
    TriedEngines engines;
    DryRun run;
  };
  std::optional<Trial> trial_;
};

}  // namespace skyline
