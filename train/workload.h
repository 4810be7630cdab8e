#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/images/bad_images.h"
#include "memory/trace.h"
#include "train/budget/step_budget.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/options/train_options.h"
#include "train/report/report.h"
#include "train/run/dry_run.h"
#include "train/run/evaluation.h"
#include "train/translation/longest_batches.h"

namespace skyline {

// A training task: data, a network and an optimizer. There are two, images and text. Runs of one
// workload read the same batches and differ only in their memory.
//
//   std::unique_ptr<Workload> workload = make_workload(options, console);
//   std::unique_ptr<ModelRun> run = workload->on(options.memory, Mode::kTraining);
//   workload->prepare();
//   run->seek({}, seed);
class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::string data_name() const = 0;
  virtual std::string_view item() const = 0;  // unit of the batch size: "images"
  virtual std::int64_t batches_per_epoch() const = 0;
  // All metrics that an evaluation may report, in order.
  virtual std::vector<Metric> metrics() const = 0;
  // The meaning of BatchFacts::lengths: "longest sentence, in words". Empty: there are none.
  virtual std::string lengths_name() const { return {}; }
  // Rows that only this workload adds to the report's table of facts.
  virtual std::vector<ReportFact> facts(Mode mode) const = 0;

  // Chooses which gradients ranks sum together, from dry runs of the longest step that makes no
  // values again: the same on all ranks. Call it before plan_budget().
  void choose_sums();
  // What choose_sums() chose; null with one rank.
  const SumBuckets& sum_buckets() const noexcept { return options_.ranks.buckets; }

  // Makes training steps reserve at most options.step.memory_bytes: plans what runs made from now
  // on make again. Throws UsageError.
  void plan_budget();
  // What plan_budget() found, with its curve; empty without a budget.
  const std::optional<BudgetAnswer>& budget() const noexcept { return budget_; }
  // What a profile of its steps is measured with.
  ProfileKey profile_key() const;

  // Makes a run; call its seek() before reading batches. Under policy upper-bound, its session has
  // already adopted the plan for the longest steps. A session with a capacity gets this policy, and
  // the console hears of it, if a warm-up could exceed the capacity. The workload outlives the run.
  // Throws ShapeError, OutOfMemory.
  std::unique_ptr<ModelRun> on(const MemoryOptions& memory, Mode mode);
  // Records the step with the most live bytes in a dry run, in the order in which runs execute it.
  virtual DryRunFacts longest_step(Mode mode) = 0;
  // Returns the memory that plans for varying steps must hold; nothing if all steps are alike.
  virtual std::optional<LongestBatchFacts> longest_batch() { return {}; }

  // Prepares the data before the first step of a new run: computes the mean image.
  virtual void prepare() {}
  // Writes the result of prepare() and other files that checkpoints need into the folder of a new
  // run, and facts that later commands need into position.more.
  virtual void save(const std::filesystem::path& folder, TrainingPosition& position) const = 0;
  // Throws DataError, or CheckpointError for words, if the data are not those that the run was
  // trained with, as far as the checkpoint tells.
  virtual void check_data(const TrainingPosition& position) const = 0;
  // Replaces prepare() and save() in a resumed run. Throws CheckpointError if `folder` does not
  // hold what the run was trained with.
  virtual void resume(const std::filesystem::path& folder, const TrainingPosition& position) = 0;

  // Names on the console the samples that could not be read since the last call.
  virtual void report_problems() {}
  virtual std::vector<BadImage> bad_images() const { return {}; }
  // Adds facts about the data to the result of a training, as JSON and as text.
  virtual void add_facts(nlohmann::ordered_json&, std::string&) {}

 protected:
  // What plans of a run must hold.
  struct Needs {
    DryRunFacts longest;       // the step with the most live bytes
    std::vector<Trace> steps;  // that policy upper-bound adopts one plan for
    Trace beside;              // of a plan that the arena may hold during a warm-up
  };

  // The console outlives the workload.
  Workload(const TrainOptions& options, Console& console) : options_(options), console_(console) {}

  virtual std::unique_ptr<ModelRun> make_run(const MemoryOptions& memory, Mode mode) = 0;
  // Nothing where dry runs do not foresee the steps.
  virtual std::optional<Needs> needs(Mode mode) = 0;

  Context::Options context(Mode mode) const;
  StepShares shares() const;
  // Dry-runs the longest training step, with its graph, while it makes these ops again. Kernels
  // are made anew after other engines were chosen.
  virtual StepTrial trial(const Savings& savings, bool other_engines) = 0;
  // Called when options_ has changed what steps run.
  virtual void forget_steps() {}
  // Arenas of the options' device are multiples of it.
  std::size_t commit_bytes() const;
  // Returns what `planned` reserves for a run whose session adopts plans for these steps.
  std::uint64_t reserved_bytes(const DryRunFacts& facts, std::span<const Trace> steps) const {
    return replayed_bytes(facts, steps, kPlannedAllocator);
  }

  TrainOptions options_;
  Console& console_;

 private:
  std::uint64_t replayed_bytes(const DryRunFacts& facts, std::span<const Trace> steps,
                               std::string_view allocator) const;
  MemoryOptions planned_in_time(MemoryOptions memory, Mode mode);

  // All runs and dry runs make their requests in one sequence.
  std::shared_ptr<StepOrders> orders_ = context_options(options_.step).orders;
  std::optional<BudgetAnswer> budget_;
};

// Makes the workload for options.model, within its budget if there is one; `options` must be
// resolved. Throws UsageError, DataError.
std::unique_ptr<Workload> make_workload(const TrainOptions& options, Console& console);

}  // namespace skyline
