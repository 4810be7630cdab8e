#pragma once

namespace skyline {

// Throws std::runtime_error, one line, where this build has no kernels for the first CUDA device,
// which is one of another compute capability.
void require_kernel_image();

}  // namespace skyline
