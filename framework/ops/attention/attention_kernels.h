#pragma once

#include <cmath>
#include <cstdint>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/shape.h"

namespace skyline {

inline constexpr std::int64_t kMostHeadChannels = 256;

struct AttentionProblem {
  std::int64_t sequences = 0;
  std::int64_t words = 0;  // of a sequence
  std::int64_t heads = 0;
  std::int64_t size = 0;  // of a head, at most kMostHeadChannels

  SKYLINE_HOST_DEVICE std::int64_t channels() const { return heads * size; }
  Shape qkv() const { return {sequences * words, 3 * channels()}; }
  Shape y() const { return {sequences * words, channels()}; }
  Shape logarithms() const { return {sequences * heads, words}; }
  float scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(size))); }
};

// Input qkv; outputs y and the logarithm of each row's sum of exponentials.
CpuOptionsMaker<AttentionProblem> make_attention_cpu;
CUDA_ONLY CudaMaker<AttentionProblem> make_attention_cuda;

// Inputs qkv, y, logarithms, grad_y; output grad_qkv, which may be qkv.
CpuOptionsMaker<AttentionProblem> make_attention_grad_cpu;
CUDA_ONLY CudaMaker<AttentionProblem> make_attention_grad_cuda;

}  // namespace skyline
