#pragma once

#include <functional>

#include "tests/cuda_emulation/device_language.h"
#include "tests/cuda_emulation/emulation.h"

namespace cuda_emulation {

// Runs `thread` as every thread of a grid, one block after another, in the order of
// Options::threads. Each block starts with poisoned shared memory. Throws std::logic_error if
// threads of a block wait at different barriers, if some have left while others wait, or if a lane
// without a thread is addressed.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);

}  // namespace cuda_emulation
