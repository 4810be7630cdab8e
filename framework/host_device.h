#pragma once

// Marks a function that nvcc compiles for the device too. The only place where host and CUDA
// compilation differ in shared code.
#ifdef __CUDACC__
#define SKYLINE_HOST_DEVICE __host__ __device__
#else
#define SKYLINE_HOST_DEVICE
#endif
