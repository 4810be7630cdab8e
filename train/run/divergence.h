#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "train/run/model_run.h"

namespace skyline {

// The loss of a training step is not finite. The facts name the step, and the op and layer that
// produced the first value that is not finite.
class Divergence : public std::runtime_error {
 public:
  struct Facts {
    std::int64_t step = 0;    // counted from 1
    std::string advice = {};  // what to do next; may be empty
    float loss = 0;
    std::string op = {}, layer = {};  // empty: the repeated forward pass was finite
    std::string parameter = {};       // the first that was not finite before the step; empty: none
  };
  explicit Divergence(Facts facts);
  const Facts& facts() const noexcept { return facts_; }

 private:
  Facts facts_;
};

// Finds the origin of a loss that is not finite: repeats the forward pass of its batch, which is of
// the current ones, and checks every output. `random` is the random stream as it was before the
// step.
Divergence explain_divergence(ModelRun& run, const RandomStream& random, std::int64_t step,
                              const LossNotFinite& found);

}  // namespace skyline
