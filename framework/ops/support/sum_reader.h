#pragma once

#include <memory>

#include "framework/op.h"

namespace skyline {

// A gradient op that may read two parts of grad_output instead of their sum, which is then never
// made: a pass over memory less.
class SumReader {
 public:
  virtual ~SumReader() = default;
  // Returns the op that adds the parts: the first one comes in the place of grad_output, the second
  // one after all other inputs. It has the bits of this op behind a sum.
  virtual std::shared_ptr<const Op> of_sum() const = 0;
};

}  // namespace skyline
