#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "framework/context.h"
#include "models/model.h"

namespace skyline {

// A loss that is no number: at which step, and which op of which layer made the first value that is
// not finite.
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

// Runs the forward pass of a step again, with every output looked at, to say where a loss that is
// not finite came from. `random` is the stream as it stood before the step.
Divergence explain_divergence(Context& context, const Network& network,
                              const std::function<void()>& forward, const RandomStream& random,
                              std::int64_t step, float loss);

}  // namespace skyline
