#pragma once

// Marks a function that runs on the device too. The build defines it for CUDA sources.
#ifndef SKYLINE_HOST_DEVICE
#define SKYLINE_HOST_DEVICE
#endif
