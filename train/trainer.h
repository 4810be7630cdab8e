#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoints/checkpoint.h"
#include "train/cli/cli.h"
#include "train/cli/console.h"
#include "train/cli/figures.h"
#include "train/cli/interrupt.h"
#include "train/decide/live_parts.h"
#include "train/decide/step_seconds.h"
#include "train/options/train_options.h"
#include "train/ranks/leader_and_follower.h"
#include "train/run/memory_summary.h"
#include "train/run/training_log.h"
#include "train/run_folder/run_directory.h"
#include "train/workload.h"

namespace skyline {

struct RunFigures;
struct RunSummary;

// The keys that `skyline train --json` prints.
std::vector<JsonKey> run_keys(const std::string& prefix);

// One run of `skyline train`: steps over shuffled batches, an evaluation after each epoch, a run
// folder with log, checkpoints, trace, plan and report.
//
//   Trainer trainer(options, {}, console);
//   trainer.start(out);            // or resume(loaded)
//   CommandResult result = trainer.run();
//
// Losses, parameters, optimizer state and sample order depend only on the options: neither the
// allocator nor resuming changes them.
class Trainer {
 public:
  // Opens the data and makes the model. `options` must be resolved. Throws UsageError, DataError,
  // ShapeError, OutOfMemory.
  Trainer(TrainOptions options, LiveParts live, Console& console);
  ~Trainer();

  // Loads --init-weights, names what did not match, and makes a new run folder; see
  // load_initial_weights() and RunDirectory::create.
  void start(const std::optional<std::filesystem::path>& out);
  // Starts a run again that was never saved, in its folder.
  void start_again(const std::filesystem::path& folder,
                   const std::vector<std::string>& changes = {});
  // Continues from a checkpoint; says which options changed. Throws CheckpointError if it belongs
  // to another model, DataError if the data are not those of the run (see Workload::check_data),
  // UsageError if the changed options end the run before the checkpoint.
  void resume(const LoadedCheckpoint& loaded, const std::vector<std::string>& changes = {});

  const DecidedWorkload& decided() const noexcept { return decided_; }

  // Runs until the last step, the end of --patience or a signal. A signal lets the running step
  // finish or stops the running evaluation; then the run is saved and the exit code is the
  // Interrupt's. Also saves a
  // checkpoint before each evaluation. Throws Divergence if a loss is not finite; earlier
  // checkpoints and logs remain. Throws RunFolderLost if someone moves or removes the run folder; a
  // folder that was moved is saved into.
  CommandResult run();

 private:
  void say_limit() const;
  bool out_of_patience() const noexcept {
    return options_.patience && position_.stale_evaluations >= *options_.patience;
  }
  bool done() const noexcept { return position_.step >= total_steps_ || out_of_patience(); }
  bool epoch_ended() const noexcept { return position_.batch == batches_per_epoch(); }
  bool evaluation_due() const;
  // The step before the latest evaluation.
  std::int64_t evaluated_step() const {
    return position_.evaluation ? position_.evaluation->step : 0;
  }
  const Session* session() const { return run_->memory.session(); }

  void initialize();
  void check_position(const TrainingPosition& position) const;
  void begin();
  CommandResult run_to_end();
  void next_step();
  LoggedStep timed_step();
  void tell_problems();
  std::string note_of(const LoggedStep& step) const;
  std::string advice_on_divergence(double rate) const;
  std::string patience_text() const;
  bool evaluate(const Interrupt& interrupt);
  void keep_evaluation(Evaluation evaluation);
  void finish_epoch();
  void save();
  // Saves into a folder that was moved, if that is possible; returns what became of the run.
  std::string rescued(const RunFolderLost& lost);
  LoggedFigures logged_figures() const;
  void tell_warnings();

  void note_plan();
  void on_session_event(const SessionEvent& event);
  double mean_loss() const;
  // Returns the share of the current epoch so far; nothing for text.
  std::optional<double> training_top1() const {
    return TrainingHits{position_.right, position_.images}.top1();
  }
  std::string evaluation_text() const;
  std::string outcome_text(double loss) const;
  nlohmann::ordered_json metric(const std::string& name) const;
  // Adds the step's graph, its order and its story.
  void add_order(RunSummary& summary, const DryRunFacts& step);
  CommandResult result(int exit_code);
  RunFigures result_figures(double loss, bool interrupted) const;

  Workload& workload() const noexcept { return *decided_.workload; }
  // Batches of a step over all ranks, and of the data.
  std::int64_t step_batches() const { return skyline::step_batches(options_); }
  std::int64_t batches_per_epoch() const { return workload().data().batches_per_epoch; }

  TrainOptions options_;
  LiveParts live_;
  Console& console_;
  TrainingPosition position_;
  DecidedWorkload decided_;
  std::int64_t total_steps_ = 0;
  LearningRate rate_;
  std::unique_ptr<ModelRun> run_;

  std::optional<RunDirectory> directory_;
  std::optional<CheckpointStore> checkpoints_;
  std::optional<CheckpointStore> best_;  // set if keep_best
  std::int64_t saved_step_ = -1;
  RankLeader leader_;
  StepProfiler profiler_;
  std::optional<Progress> progress_;
  std::optional<TrainingLog> log_;
  double seconds_ = 0;             // in this process, including evaluations
  std::uint64_t events_told_ = 0;  // plans and deviations reported
  std::uint64_t device_allocations_at_switch_ = 0;
  std::optional<MemorySummary> memory_;
  std::optional<ProcessSummary> process_;
  Trace trace_;  // the step that the report shows; plan_ is its plan
  Plan plan_;
};

}  // namespace skyline
