#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// Inputs logits f32 [rows, classes], labels i32 [rows]; outputs loss f32 [1], probabilities f32
// [rows, classes], which may be the logits. Throws LabelError before writing.
std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(std::int64_t rows, std::int64_t classes);
std::unique_ptr<Kernel> make_softmax_cross_entropy_cuda(std::int64_t rows, std::int64_t classes);

// Inputs grad_output f32 [1], probabilities, labels; output grad_logits, which may be the
// probabilities. Throws LabelError before writing.
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(std::int64_t rows,
                                                            std::int64_t classes);
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cuda(std::int64_t rows,
                                                             std::int64_t classes);

}  // namespace skyline
