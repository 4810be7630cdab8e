#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/run_directory.h"
#include "train/cli/cli.h"
#include "train/cli/interrupt.h"
#include "train/cli/progress.h"
#include "train/options/train_options.h"
#include "train/report/steps_chart.h"
#include "train/run/memory_summary.h"
#include "train/workload.h"

namespace skyline {

// One run of `skyline train`: steps over shuffled batches, an evaluation after each epoch, a run
// folder with log, checkpoints, trace, plan and report.
//
//   Trainer trainer(options, console);
//   trainer.start(out);            // or resume(loaded)
//   CommandResult result = trainer.run();
//
// Losses, parameters, momentum and the order of images depend on the options alone, not on the
// allocator and not on how often the run was taken up again.
class Trainer {
 public:
  // Opens the data and makes the model. `options` are resolved.
  // Throws UsageError, DataError, ShapeError, OutOfMemory.
  Trainer(TrainOptions options, Console& console);
  ~Trainer();

  // A new run folder, see RunDirectory::create.
  void start(const std::optional<std::filesystem::path>& out);
  // Goes on where a checkpoint stopped. Throws CheckpointError when it is another model's.
  void resume(const LoadedCheckpoint& loaded);

  // Runs until the last step or a signal; then the checkpoint is saved and the exit code is 130 or
  // 143. Throws Divergence when a loss is not finite; checkpoints and logs of before stay.
  CommandResult run();

 private:
  struct Step : Task::Step {
    double learning_rate = 0;
    double seconds = 0;  // without the wait
    bool planned = false;
  };
  // Words trained with, and how long their steps took without waits and evaluations.
  struct WordRate {
    std::uint64_t words = 0;
    double seconds = 0;

    void add(const Step& step);
    nlohmann::ordered_json per_second() const;  // null where there is no text
    std::string text() const;                   // ", 12,345 target words/s" or nothing
  };
  // How long steps waited for their batches.
  struct DataWait {
    double first_seconds = 0;  // for the first batch of this process
    double later_seconds = 0;  // for all others
  };

  bool done() const noexcept { return position_.step >= total_steps_; }
  const Session* session() const { return task_->workplace().memory.session(); }
  Step one_step();
  void after_step(const Step& step);
  void note_memory(const Step& step);
  void finish_epoch();
  bool tells_its_plan() const;
  void note_plan();
  void evaluate_now();
  void save();
  double mean_loss() const;
  std::string evaluation_text() const;
  nlohmann::ordered_json metric(const std::string& name) const;
  void on_session_event(const SessionEvent& event);
  CommandResult finish(int exit_code);
  nlohmann::ordered_json result_json(double loss, bool interrupted) const;

  TrainOptions options_;
  Console& console_;
  TrainingPosition position_;
  std::unique_ptr<Task> task_;
  std::int64_t batches_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;

  std::optional<RunDirectory> directory_;
  std::optional<CheckpointStore> checkpoints_;
  std::optional<CheckpointStore> best_;  // where asked for
  std::optional<Progress> progress_;
  std::int64_t saved_step_ = -1;
  std::int64_t steps_run_ = 0;  // by this process
  double seconds_ = 0;          // of this process, evaluation included
  DataWait wait_;
  WordRate epoch_words_, run_words_;  // of this process
  std::uint64_t events_told_ = 0;     // plans and deviations
  std::uint64_t device_allocations_at_switch_ = 0;
  std::optional<MemorySummary> memory_;
  Trace trace_;  // of the last training step that was looked at, and its plan
  Plan plan_;
  StepsChart chart_;
  std::vector<double> losses_, step_seconds_;
};

}  // namespace skyline
