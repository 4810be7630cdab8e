#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/kernel.h"

namespace skyline {

// Joined tensors in memory: `rows` rows (batch, or batch and pixels), to each of which tensor i
// contributes widths[i] floats.
struct ConcatLayout {
  std::int64_t rows = 0;
  std::vector<std::int64_t> widths;
};

// Input i is tensor i, output 0 the joined one.
std::unique_ptr<Kernel> make_concat_cpu(const ConcatLayout& layout);
std::unique_ptr<Kernel> make_concat_cuda(const ConcatLayout& layout);

// Input 0 is the joined gradient; outputs are the slices i with needed[i], in their order.
std::unique_ptr<Kernel> make_concat_grad_cpu(const ConcatLayout& layout,
                                             const std::vector<bool>& needed);
std::unique_ptr<Kernel> make_concat_grad_cuda(const ConcatLayout& layout,
                                              const std::vector<bool>& needed);

}  // namespace skyline
