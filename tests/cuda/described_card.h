#pragma once

namespace skyline::tests {

// An H200 as cuDNN describes devices, from NVIDIA's public figures. Engines can be chosen for it
// without a device.
inline constexpr const char* kDescribedCard = R"({
  "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "multiProcessorCount": 132,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
  "totalGlobalMem": 150000000000, "warpSize": 32, "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxBlockSize": [1024, 1024, 64],
  "maxGridSize": [2147483647, 65535, 65535]})";

}  // namespace skyline::tests
