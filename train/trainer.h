#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/budget/step_profile.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/cli.h"
#include "train/cli/console.h"
#include "train/cli/figures.h"
#include "train/cli/interrupt.h"
#include "train/options/train_options.h"
#include "train/ranks/rank_orders.h"
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
//   Trainer trainer(options, console);
//   trainer.start(out);            // or resume(loaded)
//   CommandResult result = trainer.run();
//
// Losses, parameters, optimizer state and sample order depend only on the options: neither the
// allocator nor resuming changes them.
class Trainer {
 public:
  // Opens the data and makes the model. `options` must be resolved. Throws UsageError, DataError,
  // ShapeError, OutOfMemory.
  Trainer(TrainOptions options, Console& console);
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

  const Workload& workload() const noexcept { return *workload_; }

  // Runs until the last step or a signal. A signal lets the running step finish or stops the
  // running evaluation; then the run is saved and the exit code is 130 or 143. Also saves a
  // checkpoint before each evaluation. Throws Divergence if a loss is not finite; earlier
  // checkpoints and logs remain. Throws RunFolderLost if someone moves or removes the run folder; a
  // folder that was moved is saved into.
  CommandResult run();

 private:
  void say_limit() const;
  bool done() const noexcept { return position_.step >= total_steps_; }
  bool epoch_ended() const noexcept { return position_.batch == batches_per_epoch_; }
  bool evaluation_due() const;
  const Session* session() const { return run_->memory.session(); }

  void initialize();
  void check_position(const TrainingPosition& position);
  void begin();
  CommandResult run_to_end();
  void step();
  LoggedStep timed_step();
  // Says once that lanes do not pay.
  void tell_lanes();
  void order(RankOrder order);
  std::string note_of(const LoggedStep& step) const;
  std::string slowest_rank() const;
  void keep_profile();
  bool evaluate(const Interrupt& interrupt);
  void keep_evaluation(const Evaluation& evaluation);
  void finish_epoch();
  void save();
  // Saves into a folder that was moved, if that is possible; returns what became of the run.
  std::string rescued(const RunFolderLost& lost);
  LoggedFigures logged_figures() const;
  void tell_warnings();

  void note_plan();
  void on_session_event(const SessionEvent& event);
  double mean_loss() const;
  std::string evaluation_text() const;
  nlohmann::ordered_json metric(const std::string& name) const;
  // Adds the step's graph, its order, its story and its sums over the ranks.
  void add_order(RunSummary& summary, const DryRunFacts& step);
  CommandResult result(int exit_code);
  RunFigures result_figures(double loss, bool interrupted) const;

  TrainOptions options_;
  Console& console_;
  TrainingPosition position_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<ModelRun> run_;
  std::int64_t step_batches_ = 1;
  std::int64_t batches_per_epoch_ = 0;  // whole steps
  std::int64_t total_steps_ = 0;

  std::optional<RunDirectory> directory_;
  std::optional<CheckpointStore> checkpoints_;
  std::optional<CheckpointStore> best_;  // set if keep_best
  bool told_lanes_ = false;
  std::int64_t saved_step_ = -1;
  std::uint64_t plan_hash_ = 0;       // of the last step, for the other ranks
  double busy_seconds_ = 0;           // of the last step, on this rank
  Launches launches_;                 // of the last step, unless its ops were timed
  std::vector<double> rank_seconds_;  // that each rank computed in all steps
  std::optional<Progress> progress_;
  std::optional<TrainingLog> log_;
  std::vector<OpTime> op_times_;   // of the running step
  StepProfile profile_;            // of the first steps
  double seconds_ = 0;             // in this process, including evaluations
  std::uint64_t events_told_ = 0;  // plans and deviations reported
  std::uint64_t device_allocations_at_switch_ = 0;
  std::optional<MemorySummary> memory_;
  std::optional<ProcessSummary> process_;
  Trace trace_;  // the step that the report shows; plan_ is its plan
  Plan plan_;
};

}  // namespace skyline
