#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "train/checkpoints/training_position.h"
#include "train/decide/step_decisions.h"
#include "train/run/evaluation.h"

namespace skyline {

class Console;
class ModelRun;
struct DataResults;
struct DryRunFacts;
struct LiveParts;
struct MemoryOptions;
struct MemoryWatch;
struct ReportFact;
struct StepTrial;
struct TrainOptions;
enum class Mode;

// What a workload reads.
struct DataFacts {
  std::string name;
  std::string item;  // unit of the batch size: "images"
  std::int64_t batches_per_epoch = 0;
  std::vector<Metric> metrics;          // all that an evaluation may report, in order
  std::string patience, patience_text;  // the metric that --patience waits for: "top1", "top-1"
  // The meaning of BatchFacts::lengths: "longest sentence, in words". Empty: there are none.
  std::string lengths_name;
  std::vector<std::string> uses;  // commands that use the trained network: "predict RUN FILE.jpg"
};

// A training task: data, a network and an optimizer. There are three: images, translation and text.
// Runs of one workload read the same batches and differ only in their memory.
//
//   auto [workload, decisions] = decided_workload(options, live, console);
//   workload->prepare();
//   std::unique_ptr<ModelRun> run = workload->on(decisions, options.memory, Mode::kTraining);
//   run->seek({}, seed);
class Workload {
 public:
  virtual ~Workload() = default;

  const DataFacts& data() const noexcept { return facts_; }
  // Rows that only this workload adds to the report's table of facts.
  virtual std::vector<ReportFact> facts(Mode mode) const = 0;

  // See StepProbe.
  virtual StepTrial dry_step(const StepDecisions& decisions) = 0;
  // Records the step with the most live bytes in a dry run, in the order in which runs execute it.
  virtual DryRunFacts longest_step(const StepDecisions& decisions, Mode mode) = 0;
  // Makes a run; call its seek() before reading batches. Under policy upper-bound, its session has
  // already adopted the plan for the longest steps. A session with a capacity gets this policy, and
  // the console hears of it, if a warm-up could exceed the capacity. The workload outlives the run.
  // Throws ShapeError, OutOfMemory.
  virtual std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& memory,
                                       Mode mode, const MemoryWatch& watch) = 0;
  std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& memory,
                               Mode mode);

  // Prepares the data before the first step of a new run: computes the mean image.
  virtual void prepare() {}
  // Writes the result of prepare() and other files that checkpoints need into the folder of a new
  // run, and facts that later commands need into `data` of its position.
  virtual void save(const std::filesystem::path& folder, StoredJson& data) const = 0;
  // Throws DataError, or CheckpointError for words, if the data are not those that the run was
  // trained with, as far as the checkpoint tells.
  virtual void check_data(const StoredJson& data) const = 0;
  // Replaces prepare() and save() in a resumed run. Throws CheckpointError if `folder` does not
  // hold what the run was trained with.
  virtual void resume(const std::filesystem::path& folder, const StoredJson& data) = 0;

  // Names the samples that could not be read since the last call.
  virtual std::vector<std::string> take_problems() { return {}; }
  virtual DataResults results(const StepDecisions& decisions) = 0;

 protected:
  DataFacts facts_;  // set by constructors
};

// The workloads. `options` must be resolved; the console outlives the workload.
std::unique_ptr<Workload> image_workload(const TrainOptions& options, const LiveParts& live,
                                         Console& console);
std::unique_ptr<Workload> translation_workload(const TrainOptions& options, const LiveParts& live,
                                               Console& console);
std::unique_ptr<Workload> text_workload(const TrainOptions& options, const LiveParts& live,
                                        Console& console);

// A workload, and what was decided for its steps.
struct DecidedWorkload {
  std::unique_ptr<Workload> workload;
  StepDecisions decisions;
};

// Opens the data of options.model and decides, see decide(); `options` must be resolved. The
// console outlives the workload. Throws UsageError, DataError.
DecidedWorkload decided_workload(const TrainOptions& options, const LiveParts& live,
                                 Console& console);

}  // namespace skyline
