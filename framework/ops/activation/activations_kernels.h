#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>

#include "framework/host_device.h"
#include "framework/kernel.h"

namespace skyline {

// exp(x) for x <= 0 within 2 ulp; 0 below the smallest normal number; NaN for NaN. Has no branches
// and calls, so that compilers vectorize loops around it (std::exp would cost 3 ns an element), and
// gives the same bits on every device. The polynomial is that of Cephes's expf; x = n ln 2 + r with
// |r| <= ln 2 / 2, ln 2 split in two.
SKYLINE_HOST_DEVICE inline float exponential(float x) {
  constexpr float kSmallest = -87.33654f;         // ln(2^-126)
  constexpr float kRoundToInteger = 12582912.0f;  // 1.5 * 2^23: adding it leaves no fraction bits
  const float clamped = x < kSmallest ? kSmallest : x;
  const float shifted = clamped * 1.44269504088896341f + kRoundToInteger;
  const float n = shifted - kRoundToInteger;
  const float r = clamped - n * 0.693359375f - n * -2.12194440e-4f;
  float series = 1.9875691500e-4f;
  series = series * r + 1.3981999507e-3f;
  series = series * r + 8.3334519073e-3f;
  series = series * r + 4.1665795894e-2f;
  series = series * r + 1.6666665459e-1f;
  series = series * r + 5.0000001201e-1f;
  const float fraction = series * r * r + r + 1.0f;
  // The low bits of `shifted` are n; n + 127 in the exponent field is 2^n.
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) << 23) + (127u << 23);
  return x < kSmallest ? 0.0f : fraction * std::bit_cast<float>(power);
}

struct ReluFunction {
  // Passes NaN on, so that its origin can be found.
  SKYLINE_HOST_DEVICE float operator()(float x) const { return x < 0 ? 0 : x; }
};

// min(max(x, 0), limit); passes NaN on, too. relu6 is the one of limit 6.
struct LimitedReluFunction {
  float limit;
  SKYLINE_HOST_DEVICE float operator()(float x) const {
    const float y = ReluFunction{}(x);
    return limit < y ? limit : y;
  }
};

struct ReluGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float y) const {
    return y > 0 ? grad_output : 0;
  }
};

struct SigmoidFunction {
  // Uses exp(-|x|), which cannot overflow; small results keep their relative precision.
  SKYLINE_HOST_DEVICE float operator()(float x) const {
    const float decay = exponential(-std::fabs(x));
    return (x < 0 ? decay : 1.0f) / (1.0f + decay);
  }
};

struct SigmoidGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float y) const {
    return grad_output * y * (1.0f - y);
  }
};

struct TanhFunction {
  // Near 0 the odd polynomial of Cephes's tanhf, else (1 - exp(-2|x|)) / (1 + exp(-2|x|)).
  SKYLINE_HOST_DEVICE float operator()(float x) const {
    const float magnitude = std::fabs(x);
    const float decay = exponential(-2.0f * magnitude);
    const float far = std::copysign((1.0f - decay) / (1.0f + decay), x);
    const float square = x * x;
    float series = -5.70498872745e-3f;
    series = series * square + 2.06390887954e-2f;
    series = series * square - 5.37397155531e-2f;
    series = series * square + 1.33314422036e-1f;
    series = series * square - 3.33332819422e-1f;
    const float near = series * square * x + x;
    return magnitude < 0.625f ? near : far;
  }
};

struct TanhGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float y) const {
    return grad_output * (1.0f - y * y);
  }
};

// gelu's argument u of tanh and, since 1 + tanh(u) = 2 sigmoid(2 u), the sigmoid, which keeps the
// relative precision of small results.
struct GeluFunction {
  static constexpr float kSlope = 1.5957691216057308f, kCubic = 0.044715f;  // 2 sqrt(2 / pi)

  SKYLINE_HOST_DEVICE static float gate(float x) {
    return SigmoidFunction{}(kSlope * (x + kCubic * x * x * x));
  }
  SKYLINE_HOST_DEVICE float operator()(float x) const { return x * gate(x); }
};

struct GeluGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float x) const {
    const float gate = GeluFunction::gate(x);
    const float slope = GeluFunction::kSlope * (1.0f + 3.0f * GeluFunction::kCubic * x * x);
    return grad_output * (gate + x * gate * (1.0f - gate) * slope);
  }
};

enum class ActivationKind : std::uint8_t { kRelu, kSigmoid, kTanh, kGelu };

// A function of so many elements or, with inputs grad_output and y (gelu: x), its gradient.
struct ActivationProblem {
  ActivationKind kind = ActivationKind::kRelu;
  bool gradient = false;
  std::int64_t elements = 0;
};

// Returns call(function) for the problem's function.
template <typename Call>
std::unique_ptr<Kernel> with_function(const ActivationProblem& problem, const Call& call) {
  switch (problem.kind) {
    case ActivationKind::kRelu:
      return problem.gradient ? call(ReluGradFunction{}) : call(ReluFunction{});
    case ActivationKind::kSigmoid:
      return problem.gradient ? call(SigmoidGradFunction{}) : call(SigmoidFunction{});
    case ActivationKind::kTanh:
      return problem.gradient ? call(TanhGradFunction{}) : call(TanhFunction{});
    case ActivationKind::kGelu:
      return problem.gradient ? call(GeluGradFunction{}) : call(GeluFunction{});
  }
  return nullptr;
}

CpuMaker<ActivationProblem> make_activation_cpu;
CUDA_ONLY CudaMaker<ActivationProblem> make_activation_cuda;

// Which elements dropout keeps, in blocks of 4 * kDropoutStride: element i of block b uses word i /
// kDropoutStride of counter kDropoutStride * b + i % kDropoutStride. So each element of a vector,
// or thread of a warp, draws four words, and together they touch neighbouring elements.
struct DropoutMask {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;  // added to the stream, also where that is a run value
  float rate = 0;

  // Elements with a word below this are dropped.
  std::uint32_t threshold() const {
    return static_cast<std::uint32_t>(static_cast<double>(rate) * 0x1p32);
  }
  float scale() const { return 1.0f / (1.0f - rate); }
};
inline constexpr int kDropoutStride = 32;

// output = input * scale() if kept, else 0, in forward and backward. The run value is the stream.
std::unique_ptr<Kernel> make_dropout_cpu(std::int64_t elements, DropoutMask mask);
CUDA_ONLY std::unique_ptr<Kernel> make_dropout_cuda(CudaCompute& compute, std::int64_t elements,
                                                    DropoutMask mask);

}  // namespace skyline
