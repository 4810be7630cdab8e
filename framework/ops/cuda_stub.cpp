// Stands in for the CUDA kernels in builds without them: every factory throws, naming op and flag.

#include <stdexcept>
#include <string>

#include "framework/ops/batch_norm_kernels.h"
#include "framework/ops/conv2d_kernels.h"
#include "framework/ops/linear_kernels.h"
#include "framework/ops/pool2d_kernels.h"

namespace skyline {

namespace {

[[noreturn]] std::unique_ptr<Kernel> refuse(const std::string& op) {
  throw std::runtime_error("[" + op + "] this build has no CUDA backend (--device cuda)");
}

}  // namespace

using Made = std::unique_ptr<Kernel>;

Made make_batch_norm_cuda(const BatchNormProblem&) { refuse("batch_norm"); }
Made make_batch_norm_inference_cuda(const BatchNormProblem&) { refuse("batch_norm_inference"); }
Made make_batch_norm_grad_cuda(const BatchNormProblem&) { refuse("batch_norm_grad"); }
Made make_batch_norm_update_cuda(const RunningUpdate&) { refuse("batch_norm_update"); }

Made make_conv2d_cuda(const Conv2dProblem&) { refuse("conv2d"); }
Made make_conv2d_grad_input_cuda(const Conv2dProblem&) { refuse("conv2d_grad_input"); }
Made make_conv2d_grad_weight_cuda(const Conv2dProblem&) { refuse("conv2d_grad_weight"); }

Made make_linear_cuda(const LinearProblem&) { refuse("linear"); }
Made make_linear_grad_input_cuda(const LinearProblem&) { refuse("linear_grad_input"); }
Made make_linear_grad_weight_cuda(const LinearProblem&) { refuse("linear_grad_weight"); }

Made make_max_pool2d_cuda(const Pool2dProblem&, bool) { refuse("max_pool2d"); }
Made make_max_pool2d_grad_cuda(const Pool2dProblem&) { refuse("max_pool2d_grad"); }
Made make_average_pool2d_cuda(const Pool2dProblem&) { refuse("average_pool2d"); }
Made make_average_pool2d_grad_cuda(const Pool2dProblem&) { refuse("average_pool2d_grad"); }

}  // namespace skyline
