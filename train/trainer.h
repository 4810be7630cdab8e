#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/cli.h"
#include "train/evaluate.h"
#include "train/experiment.h"
#include "train/interrupt.h"
#include "train/memory_facts.h"
#include "train/progress.h"
#include "train/run_directory.h"
#include "train/train_options.h"
#include "train/training_data.h"

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
  struct Step {
    double loss = 0;
    double learning_rate = 0;
    double seconds = 0;
    bool planned = false;
  };
  // How long steps waited for their batches.
  struct DataWait {
    double first_seconds = 0;  // for the first batch of this process
    double later_seconds = 0;  // for all others
    double last_seconds = 0;
  };

  bool done() const noexcept { return position_.step >= total_steps_; }
  void restore_mean(const std::filesystem::path& folder);
  void note_wait(double seconds);
  void name_bad_images();
  Step one_step(const Batch& batch);
  void after_step(const Step& step);
  void finish_epoch();
  void evaluate_now();
  void plan_evaluation();
  std::size_t evaluation_batch_size() const;
  void save();
  double mean_loss() const;
  std::string accuracy_text() const;
  void on_session_event(const SessionEvent& event);
  CommandResult finish(int exit_code);

  TrainOptions options_;
  Console& console_;
  const ModelEntry& entry_;
  TrainingData data_;
  std::unique_ptr<Experiment> experiment_;
  std::int64_t batches_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;

  std::optional<RunDirectory> directory_;
  std::optional<CheckpointStore> checkpoints_;
  std::optional<Progress> progress_;
  TrainingPosition position_;
  std::int64_t saved_step_ = -1;
  std::int64_t steps_run_ = 0;  // by this process
  double seconds_ = 0;          // of this process, evaluation included
  DataWait wait_;
  std::optional<double> top1_;  // of the evaluation that came last
  std::optional<double> top5_;  // the same; unset for few classes
  bool evaluation_planned_ = false;
  std::uint64_t device_allocations_at_switch_ = 0;
  std::optional<MemoryFacts> memory_;
  Trace trace_;  // of the last training step that was looked at, and its plan
  Plan plan_;
  std::vector<double> losses_, step_seconds_;
};

}  // namespace skyline
