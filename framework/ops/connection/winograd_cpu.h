#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/winograd_code.h"

namespace skyline {

// Returns the loops for a convolution that this processor can run, the fastest first: none if the
// windows are not 3 x 3 or 5 x 5 with stride 1 and one group, and none without AVX2. A limit for
// oneDNN (ONEDNN_MAX_CPU_ISA) holds for them, too.
std::vector<const WinogradCode*> winograd_codes(const Conv2dProblem& problem);

// Returns a kernel of Winograd's F(4 x 4, 3 x 3) or F(2 x 2, 5 x 5) (Lavin, Gray 2016, "Fast
// algorithms for convolutional neural networks") that runs on one of winograd_codes(problem).
// Operands are those of conv2d_kernels.h.
//
// A tile of 6 x 6 pixels, which gives 4 x 4 or 2 x 2 results, is transformed to 36 positions. At
// each of them, tiles by channels times channels by outputs is a product of matrices: 36
// multiplications in place of 144 or 100. A round is as many tiles as leave their rows in the
// second-level cache until they are multiplied. The workspace holds transformed weights of some
// output channels, and for each of OpenMP's threads, or of `parts` lanes, the rows of a round; it
// hardly grows with the batch. No bit depends on how many threads or lanes there are.
//
// Results of the images' size may be written over the images if there are at most 256 channels.
// Threads that share an image each keep a row or two of pixels for that.
std::unique_ptr<Kernel> make_winograd_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                          const WinogradCode& code, std::size_t parts = 1);

}  // namespace skyline
