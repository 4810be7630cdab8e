#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/images/bad_images.h"
#include "memory/trace.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/report/report.h"
#include "train/run/model_run.h"
#include "train/translation/longest_batches.h"

namespace skyline {

struct TrainOptions;

// What runs train: data, a network and an optimizer. There are two: images and text. Runs of one
// workload read the same batches and differ in their memory alone.
//
//   std::unique_ptr<Workload> workload = make_workload(options, console);
//   std::unique_ptr<ModelRun> run = workload->on(options.memory, Mode::kTraining);
//   workload->prepare();
//   run->seek({}, seed);
class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::string data_name() const = 0;
  virtual std::string_view item() const = 0;  // what a batch counts: "images"
  virtual std::int64_t batches_per_epoch() const = 0;
  // Every metric that an evaluation may have, in order.
  virtual std::vector<std::string> metric_names() const = 0;
  // What BatchFacts::lengths count: "longest sentence, in words".
  virtual std::string lengths_name() const { return {}; }
  // Lines of the page's table of facts that only this workload has.
  virtual std::vector<ReportFact> facts(Mode mode) const = 0;

  // A run; seek() tells it where its batches begin. Under the policy upper-bound its session has
  // adopted the plan of the longest steps. The workload outlives it. Throws ShapeError,
  // OutOfMemory.
  virtual std::unique_ptr<ModelRun> on(const MemoryOptions& memory, Mode mode) = 0;
  // The step with the most live bytes, from a dry run.
  virtual Trace longest_step(Mode mode) = 0;
  // What plans for steps that differ must hold; none where all steps are alike.
  virtual std::optional<LongestBatchFacts> longest_batch() { return {}; }

  // Computes what the data need before the first step of new runs: the mean image.
  virtual void prepare() {}
  // Writes what prepare() made, and what checkpoints need beside them, into the folder of a new
  // run, and into position.more what later commands must know.
  virtual void save(const std::filesystem::path& folder, TrainingPosition& position) const = 0;
  // In place of both when a run is resumed. Throws CheckpointError when `folder` holds other things
  // than what was trained with.
  virtual void resume(const std::filesystem::path& folder, const TrainingPosition& position) = 0;

  // Samples that could not be read so far; those since the last call are named on the console.
  virtual void report_problems() {}
  virtual std::vector<BadImage> bad_images() const { return {}; }
  // Adds facts of the data to a training's result, as JSON and as text.
  virtual void add_facts(nlohmann::ordered_json&, std::string&) {}
};

// The workload of the model that `options`, which are resolved, name. Throws UsageError, DataError.
std::unique_ptr<Workload> make_workload(const TrainOptions& options, Console& console);

}  // namespace skyline
