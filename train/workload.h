#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/trace.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/run/model_run.h"

namespace skyline {

struct TrainOptions;

// What a run trains: data, a network, an optimizer and the step that joins them. The trainer brings
// steps, evaluations, checkpoints and memory together and knows nothing of images or sentences.
class Task {
 public:
  struct Step {
    double loss = 0;
    double wait_seconds = 0;  // for the batch
    // Of text: target words, ends of sentence included, and e to the loss of one of them.
    std::uint64_t words = 0;
    double perplexity = 0;
    // What the log says of the batch besides, under these names.
    std::vector<std::pair<std::string, std::uint64_t>> lengths;
  };

  // How good the network is at data that it was not trained on.
  struct Evaluation {
    std::vector<std::pair<std::string, double>> metrics;  // the one that counts first
    std::string text;                                     // "test top-1 90.00 %, top-5 99.00 %"
    std::string sample;                                   // lines for the reader; empty: none
  };

  virtual ~Task() = default;

  virtual Workplace& workplace() = 0;
  virtual std::string data_name() const = 0;
  virtual std::string_view item() const = 0;  // what a batch counts: "images"
  virtual std::int64_t batches_per_epoch() const = 0;
  // Of all metrics that an evaluation may have, in their order.
  virtual std::vector<std::string> metric_names() const = 0;

  // Before the first step of a new run in `folder`: writes there what belongs beside its
  // checkpoints, and into position.more what a later command must know.
  virtual void start(const std::filesystem::path& folder, TrainingPosition& position) = 0;
  // The same for a run that is taken up again, after start() of another process.
  // Throws CheckpointError when what lies in `folder` is not what was trained with.
  virtual void resume(const std::filesystem::path& folder, const TrainingPosition& position) = 0;

  // Where the next step() goes on.
  virtual void seek(const TrainingPosition& position) = 0;
  // Takes the next batch, trains with it. `number` counts all steps of the run from 1.
  // Throws Divergence when the loss is not finite, and what steps throw.
  virtual Step step(std::int64_t number, double learning_rate) = 0;

  // `number` steps have been done.
  virtual Evaluation evaluate(std::int64_t number) = 0;
  // An evaluation is due after that step, besides those after each epoch.
  virtual bool evaluates_after(std::int64_t) const { return false; }

  // Traces whose plan serves every step, for the policy upper-bound; from dry runs.
  virtual std::vector<Trace> longest_steps() const = 0;
  // The name that longest_steps() belong to.
  virtual ShapeKey longest_key() const = 0;
  virtual bool is_evaluation(ShapeKey) const { return false; }

  // Says what went wrong with the data since the last call.
  virtual void report_problems(Console&) {}
  // Adds what the data came to, to the result's JSON and text.
  virtual void add_facts(nlohmann::ordered_json&, std::string&) const {}
  // What lengths count, for the report: "longest sentence, in words".
  virtual std::string lengths_name() const { return {}; }
};

// The task of the model that `options` name. The listener may be called by steps only.
// Throws UsageError, DataError, ShapeError, OutOfMemory.
std::unique_ptr<Task> make_task(const TrainOptions& options, SessionListener listener,
                                Console& console);

}  // namespace skyline
