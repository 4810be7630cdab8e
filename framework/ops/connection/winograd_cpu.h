#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/winograd_code.h"

namespace skyline {

// Returns the loops that this processor can run, the fastest first; none without AVX2. A limit for
// oneDNN (ONEDNN_MAX_CPU_ISA) holds for them, too.
std::vector<const WinogradCode*> winograd_codes();

// Returns a kernel of Winograd's F(4 x 4, 3 x 3) (Lavin, Gray 2016, "Fast algorithms for
// convolutional neural networks"); operands as in conv2d_kernels.h. Null if the windows are not
// 3 x 3 with stride 1 and one group. Runs on `code`.
//
// A tile of 6 x 6 pixels, which gives 4 x 4 results, is transformed to 36 positions. At each of
// them, tiles by channels times channels by outputs is a product of matrices: 36 multiplications in
// place of 144. A round is as many tiles as leave their rows in the second-level cache until they
// are multiplied. The workspace holds transformed weights of some output channels, and for each of
// OpenMP's threads, or of `parts` lanes, the rows of a round; it does not grow with the batch.
// No bit depends on how many threads or lanes there are.
std::unique_ptr<Kernel> make_winograd_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                          const WinogradCode& code, std::size_t parts = 1);

}  // namespace skyline
