#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

// Quality of a network on data that it was not trained on.
struct Evaluation {
  // The first one decides which evaluation is best: larger is better.
  std::vector<std::pair<std::string, double>> metrics;
  std::string text;    // "test top-1 90.00 %, top-5 99.00 %"
  std::string sample;  // lines to read; may be empty
};

enum class MetricKind { kLoss, kShare, kNumber };

// The share of images that the steps of an epoch classified right, logged with its evaluation.
inline constexpr const char* kTrainingTop1 = "training_top1";

// A figure of evaluations. Losses are drawn beside the training loss, shares in percent.
struct Metric {
  std::string name;   // in logs: "top1"
  std::string label;  // on pages: "top-1"
  MetricKind kind = MetricKind::kNumber;
};

// The evaluation after a step, for the report.
struct EvaluatedStep {
  std::int64_t step = 0;
  std::vector<double> values;  // in the order of the workload's metrics; NaN: not measured
};

// Called after each batch of an evaluation with the number of samples done and in total. May throw
// EvaluationStopped to end the evaluation.
using EvaluationProgress = std::function<void(std::size_t done, std::size_t total)>;

class EvaluationStopped : public std::runtime_error {
 public:
  EvaluationStopped() : std::runtime_error("the evaluation was stopped") {}
};

}  // namespace skyline
