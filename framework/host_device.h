#pragma once

// Marks a function that also runs on the device. The build defines it for CUDA sources.
#ifndef SKYLINE_HOST_DEVICE
#define SKYLINE_HOST_DEVICE
#endif
