#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "train/run/model_run.h"

namespace skyline {

// A loss that is not finite: at which step, and which op of which layer made the first value that
// is not finite.
class Divergence : public std::runtime_error {
 public:
  struct Facts {
    std::int64_t step = 0;  // counted from 1
    float loss = 0;
    std::string op = {}, layer = {};  // empty: the repeated forward pass was finite
    std::string parameter = {};  // the first one that was not finite before the step; empty: none
  };
  explicit Divergence(Facts facts);
  const Facts& facts() const noexcept { return facts_; }

 private:
  Facts facts_;
};

// Repeats the forward pass of the batch in hand and checks every output, to say where the loss that
// is not finite came from. `random` is the stream as it stood before the step.
Divergence explain_divergence(ModelRun& run, const RandomStream& random, std::int64_t step,
                              float loss);

}  // namespace skyline
