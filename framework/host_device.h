#pragma once

// Marks a function that also runs on the device. The build defines it for CUDA sources.
#ifndef SKYLINE_HOST_DEVICE
#define SKYLINE_HOST_DEVICE
#endif

// The build defines CUDA_ONLY, which marks the factory of a CUDA kernel: empty with CUDA, and weak
// without it, so that the linker accepts the missing kernel. Nobody can call it there, because no
// CudaCompute can be made.
