#pragma once

namespace skyline {

// Throws std::runtime_error, one line, if this build has no kernels for the compute capability of
// the current CUDA device.
void require_kernel_image();

}  // namespace skyline
