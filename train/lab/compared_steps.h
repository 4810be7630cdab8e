#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/images/bad_images.h"
#include "memory/trace.h"
#include "train/options/train_options.h"
#include "train/report/report.h"
#include "train/run/model_run.h"
#include "train/translation/longest_batches.h"

namespace skyline {

// Steps over a run's batches in one workplace.
class ComparedSteps {
 public:
  virtual ~ComparedSteps() = default;
  virtual Workplace& workplace() = 0;
  // Takes the next batch.
  virtual void next() = 0;
  // One step with it, the `number`th, counted from 1; its loss.
  virtual float step(std::int64_t number, double learning_rate) = 0;
  // Of the batch, where batches differ in shape: "source" and "target" and their longest sentences.
  virtual std::vector<std::pair<std::string, std::uint64_t>> lengths() const { return {}; }
};

// What runs under several allocators have in common: the same batches, and what is to be told of
// them.
class ComparedData {
 public:
  virtual ~ComparedData() = default;
  // New steps from the first batch on. Throws OutOfMemory. This outlives them.
  virtual std::unique_ptr<ComparedSteps> steps(const MemoryOptions& memory) const = 0;
  virtual std::string name() const = 0;
  virtual std::vector<ReportFact> facts() const = 0;  // beside those of all runs
  // A step from a dry run; where steps differ, the one with the most live bytes.
  virtual Trace trace() const = 0;
  // Where steps differ: what plans for them have to hold.
  virtual std::optional<LongestBatchFacts> longest_batch() const { return {}; }
  virtual std::vector<BadImage> bad_images() const { return {}; }
};

// Of the model that `options` name, for so many steps. Throws UsageError, DataError.
std::unique_ptr<ComparedData> open_compared_data(const TrainOptions& options, Mode mode,
                                                 std::int64_t steps);

}  // namespace skyline
