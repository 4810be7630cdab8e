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

// A gradient op of one output that may add it to a part of that gradient that is there already, in
// its place, so that the two are never both in memory.
class GradientAdder {
 public:
  virtual ~GradientAdder() = default;
  // Returns the op that adds: the part comes after all other inputs, and the output may go over it.
  // It has the bits of a sum of the part and this op's output.
  virtual std::shared_ptr<const Op> onto() const = 0;
};

}  // namespace skyline
