#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

// How good a network is at data that it was not trained on.
struct Evaluation {
  std::vector<std::pair<std::string, double>> metrics;  // the deciding one first; larger is better
  std::string text;                                     // "test top-1 90.00 %, top-5 99.00 %"
  std::string sample;                                   // lines to read; may be empty
};

// Called after each batch of an evaluation with the samples done and their number in all. Throws
// EvaluationStopped to end the evaluation there.
using EvaluationProgress = std::function<void(std::size_t done, std::size_t total)>;

class EvaluationStopped : public std::runtime_error {
 public:
  EvaluationStopped() : std::runtime_error("the evaluation was stopped") {}
};

}  // namespace skyline
