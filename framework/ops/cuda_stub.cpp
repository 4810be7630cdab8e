// Stands in for the CUDA kernels in builds without them: every factory throws, naming op and flag.

#include <stdexcept>
#include <string>

#include "framework/ops/activation/dropout_kernels.h"
#include "framework/ops/activation/relu_kernels.h"
#include "framework/ops/activation/sigmoid_kernels.h"
#include "framework/ops/activation/tanh_kernels.h"
#include "framework/ops/array/concat_kernels.h"
#include "framework/ops/array/rows_kernels.h"
#include "framework/ops/array/shortcut_kernels.h"
#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/embedding_kernels.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/loss/log_softmax_kernels.h"
#include "framework/ops/loss/softmax_cross_entropy_kernels.h"
#include "framework/ops/math/add_scaled_kernels.h"
#include "framework/ops/math/argmax_kernels.h"
#include "framework/ops/math/fill_kernels.h"
#include "framework/ops/math/sum_kernels.h"
#include "framework/ops/normalization/batch_norm_kernels.h"
#include "framework/ops/normalization/local_response_norm_kernels.h"
#include "framework/ops/optimizer/adam_kernels.h"
#include "framework/ops/optimizer/gradient_norm_kernels.h"
#include "framework/ops/optimizer/sgd_momentum_kernels.h"
#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/recurrent/lstm_cell_kernels.h"
#include "framework/ops/recurrent/lstm_kernels.h"

namespace skyline {

namespace {

[[noreturn]] std::unique_ptr<Kernel> refuse(const std::string& op) {
  throw std::runtime_error("[" + op + "] this build has no CUDA backend (--device cuda)");
}

}  // namespace

using Made = std::unique_ptr<Kernel>;

Made make_adam_cuda(CudaCompute&, std::int64_t, AdamFunction, bool) { refuse("adam"); }

Made make_add_scaled_cuda(CudaCompute&, std::int64_t, AddScaledParams) { refuse("add_scaled"); }
Made make_add_scaled_grad_cuda(CudaCompute&, std::int64_t, AddScaledGradients) {
  refuse("add_scaled_grad");
}

Made make_argmax_cuda(CudaCompute&, std::int64_t, std::int64_t) { refuse("argmax"); }

Made make_batch_norm_cuda(CudaCompute&, const BatchNormProblem&) { refuse("batch_norm"); }
Made make_batch_norm_inference_cuda(CudaCompute&, const BatchNormProblem&) {
  refuse("batch_norm_inference");
}
Made make_batch_norm_grad_cuda(CudaCompute&, const BatchNormProblem&) { refuse("batch_norm_grad"); }
Made make_batch_norm_update_cuda(CudaCompute&, const RunningUpdate&) {
  refuse("batch_norm_update");
}

Made make_conv2d_cuda(CudaCompute&, const Conv2dProblem&) { refuse("conv2d"); }
Made make_conv2d_grad_input_cuda(CudaCompute&, const Conv2dProblem&) {
  refuse("conv2d_grad_input");
}
Made make_conv2d_grad_weight_cuda(CudaCompute&, const Conv2dProblem&) {
  refuse("conv2d_grad_weight");
}

Made make_linear_cuda(CudaCompute&, const LinearProblem&) { refuse("linear"); }
Made make_linear_grad_input_cuda(CudaCompute&, const LinearProblem&) {
  refuse("linear_grad_input");
}
Made make_linear_grad_weight_cuda(CudaCompute&, const LinearProblem&) {
  refuse("linear_grad_weight");
}

Made make_local_response_norm_cuda(CudaCompute&, const LocalResponseNormProblem&) {
  refuse("local_response_norm");
}
Made make_local_response_norm_grad_cuda(CudaCompute&, const LocalResponseNormProblem&) {
  refuse("local_response_norm_grad");
}

Made make_log_softmax_cuda(CudaCompute&, std::int64_t, std::int64_t) { refuse("log_softmax"); }

Made make_lstm_cell_cuda(CudaCompute&, std::int64_t, std::int64_t) { refuse("lstm_cell"); }
Made make_lstm_cell_grad_cuda(CudaCompute&, std::int64_t, std::int64_t) {
  refuse("lstm_cell_grad");
}

Made make_lstm_cuda(CudaCompute&, const LstmProblem&) { refuse("lstm"); }
Made make_lstm_grad_cuda(CudaCompute&, const LstmProblem&, const LstmGradients&) {
  refuse("lstm_grad");
}

Made make_max_pool2d_cuda(CudaCompute&, const Pool2dProblem&, bool) { refuse("max_pool2d"); }
Made make_max_pool2d_grad_cuda(CudaCompute&, const Pool2dProblem&) { refuse("max_pool2d_grad"); }
Made make_average_pool2d_cuda(CudaCompute&, const Pool2dProblem&) { refuse("average_pool2d"); }
Made make_average_pool2d_grad_cuda(CudaCompute&, const Pool2dProblem&) {
  refuse("average_pool2d_grad");
}

Made make_concat_cuda(CudaCompute&, const ConcatLayout&, bool) { refuse("concat"); }
Made make_concat_grad_cuda(CudaCompute&, const ConcatLayout&, bool, const std::vector<bool>&) {
  refuse("concat_grad");
}

Made make_dropout_cuda(CudaCompute&, std::int64_t, DropoutMask) { refuse("dropout"); }

Made make_embedding_cuda(CudaCompute&, const EmbeddingProblem&) { refuse("embedding"); }
Made make_embedding_grad_cuda(CudaCompute&, const EmbeddingProblem&) { refuse("embedding_grad"); }

Made make_fill_cuda(CudaCompute&, std::int64_t, float) { refuse("fill"); }

Made make_sum_of_squares_cuda(CudaCompute&, std::int64_t) { refuse("sum_of_squares"); }
Made make_clip_factor_cuda(CudaCompute&, std::size_t, float) { refuse("clip_factor"); }

Made make_relu_cuda(CudaCompute&, std::int64_t) { refuse("relu"); }
Made make_relu_grad_cuda(CudaCompute&, std::int64_t) { refuse("relu_grad"); }

Made make_take_rows_cuda(CudaCompute&, std::vector<RowRange>, std::int64_t) {
  refuse("split_rows");
}
Made make_place_rows_cuda(CudaCompute&, std::vector<RowRange>, std::int64_t, std::int64_t) {
  refuse("concat_rows");
}
Made make_permute_rows_cuda(CudaCompute&, std::vector<std::int32_t>, std::int64_t) {
  refuse("permute_rows");
}

Made make_sgd_momentum_cuda(CudaCompute&, std::int64_t, SgdParams) { refuse("sgd_momentum"); }

Made make_shortcut_cuda(CudaCompute&, const ShortcutProblem&) { refuse("shortcut"); }
Made make_shortcut_grad_cuda(CudaCompute&, const ShortcutProblem&) { refuse("shortcut_grad"); }

Made make_sigmoid_cuda(CudaCompute&, std::int64_t) { refuse("sigmoid"); }
Made make_sigmoid_grad_cuda(CudaCompute&, std::int64_t) { refuse("sigmoid_grad"); }

Made make_softmax_cross_entropy_cuda(CudaCompute&, const CrossEntropyProblem&) {
  refuse("softmax_cross_entropy");
}
Made make_softmax_cross_entropy_grad_cuda(CudaCompute&, const CrossEntropyProblem&) {
  refuse("softmax_cross_entropy_grad");
}

Made make_sum_cuda(CudaCompute&, std::int64_t, int) { refuse("sum"); }

Made make_tanh_cuda(CudaCompute&, std::int64_t) { refuse("tanh"); }
Made make_tanh_grad_cuda(CudaCompute&, std::int64_t) { refuse("tanh_grad"); }

}  // namespace skyline
