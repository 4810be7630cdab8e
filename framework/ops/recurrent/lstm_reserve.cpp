#include <algorithm>

#include "framework/ops/recurrent/lstm_kernels.h"

namespace skyline {
namespace {

// So that every part starts where the widest vector loads want it.
constexpr std::int64_t kAlignmentFloats = 16;

std::int64_t aligned(std::int64_t floats) {
  return (floats + kAlignmentFloats - 1) / kAlignmentFloats * kAlignmentFloats;
}

}  // namespace

LstmReserve::LstmReserve(const LstmProblem& problem)
    : gates_(aligned(problem.rows() * problem.gates())),
      width_(aligned(problem.rows() * problem.units)),
      layer_stride_(problem.retained ? gates_ + width_ : 0),
      outputs_((problem.retained ? problem.layers : 1) * (gates_ + width_)),
      output_slots_(std::max<std::int64_t>(1, problem.retained
                                                  ? problem.layers - 1
                                                  : std::min<std::int64_t>(2, problem.layers - 1))),
      floats_(outputs_ + (problem.layers > 1 ? output_slots_ * width_ : 0)) {}

}  // namespace skyline
