#pragma once

// Marks a function that also runs on the device. The build defines it for CUDA sources.
#ifndef SKYLINE_HOST_DEVICE
#define SKYLINE_HOST_DEVICE
#endif

// Marks the factory of a CUDA kernel. Builds without CUDA define it as "weak", so that the linker
// accepts the missing kernel: nobody can call it there, because no CudaCompute can be made.
#ifndef CUDA_ONLY
#define CUDA_ONLY
#endif
