#pragma once

#include <functional>

#include "tests/cuda_emulation/device_language.h"
#include "tests/cuda_emulation/emulation.h"

namespace cuda_emulation {

// Runs `thread` as every thread of a grid, one block after another, under Options::threads. Throws
// std::logic_error where threads of a block wait at different barriers, or have left while others
// wait, or where a lane is asked for that no thread is.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);

}  // namespace cuda_emulation
