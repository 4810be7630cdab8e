#include <algorithm>

#include "framework/ops/recurrent/lstm_kernels.h"
#include "memory/alignment.h"

namespace skyline {
namespace {

// Every part starts where the widest vector loads are aligned.
constexpr std::int64_t kAlignmentFloats = 16;

}  // namespace

LstmReserve::LstmReserve(const LstmProblem& problem)
    : gates_(align_up(problem.rows() * problem.gates(), kAlignmentFloats)),
      width_(align_up(problem.rows() * problem.units, kAlignmentFloats)),
      layer_stride_(problem.retained ? gates_ + width_ : 0),
      outputs_((problem.retained ? problem.layers : 1) * (gates_ + width_)),
      output_slots_(std::max<std::int64_t>(1, problem.retained
                                                  ? problem.layers - 1
                                                  : std::min<std::int64_t>(2, problem.layers - 1))),
      floats_(outputs_ + (problem.layers > 1 ? output_slots_ * width_ : 0)) {}

}  // namespace skyline
