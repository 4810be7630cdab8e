#pragma once

#include <cstdint>

#include "framework/ops/connection/winograd_code.h"
#include "framework/ops/support/panel_loops.h"

namespace skyline {

// kWidth floats are a vector. A product keeps kRows x kVectors vectors in registers. Windows have
// kTaps x kTaps pixels.
template <int kWidth, int kRows, int kVectors, int kTaps>
class WinogradLoops {
 public:
  static constexpr WinogradCode code() {
    return {.taps = kTaps,
            .outputs = kOutputs,
            .width = kWidth,
            .columns = kColumns,
            .rows = kRows,
            .transform_image = transform_image,
            .transform_gradient = transform_gradient,
            .transform_weight = transform_weight,
            .finish_image = finish_image,
            .finish_weight = finish_weight,
            .multiply = PanelLoops<kWidth, kRows, kVectors>::multiply};
  }

 private:
  using Index = std::int64_t;
  using Vector = typename FloatVector<kWidth>::Type;
  using Unaligned = typename FloatVector<kWidth>::Unaligned;
  static constexpr int kColumns = kWidth * kVectors, kSide = 6, kOutputs = kSide + 1 - kTaps;

  // The points are 0, ±5/8, ±3/2 and infinity (eight pairs tried). The largest errors are then
  // twice those of direct kernels, a quarter of those with Lavin's 0, ±1, ±2.
  static constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;
  // One over the product of a point's distances to the others.
  static constexpr float kOver0 = 1 / (kA2 * kB2), kOverA = 1 / (2 * kA2 * (kA2 - kB2)),
                         kOverB = 1 / (2 * kB2 * (kB2 - kA2));

  static constexpr float power(float base, int exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
  }

  // Lavin and Gray's B^T, for one axis.
  struct ImageAxis {
    static constexpr int kIn = kSide, kOut = kSide;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      const Vector even_a = x[4] - kB2 * x[2], odd_a = x[3] - kB2 * x[1];
      const Vector even_b = x[4] - kA2 * x[2], odd_b = x[3] - kA2 * x[1];
      y[0] = x[4] + (kA2 * kB2) * x[0] - (kA2 + kB2) * x[2];
      y[1] = even_a + kA * odd_a;
      y[2] = even_a - kA * odd_a;
      y[3] = even_b + kB * odd_b;
      y[4] = even_b - kB * odd_b;
      y[5] = x[5] + (kA2 * kB2) * x[1] - (kA2 + kB2) * x[3];
    }
  };

  // The values of a polynomial at all points: G for the taps of a weight (kOver), A for gradients.
  template <int kCoefficients, bool kOver>
  struct ValuesAxis {
    static constexpr int kIn = kCoefficients, kOut = kSide;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      y[0] = (kOver ? kOver0 : 1) * x[0];
      apply_pair(x, kA, kOver ? kOverA : 1, y + 1);
      apply_pair(x, kB, kOver ? kOverB : 1, y + 3);
      y[5] = x[kIn - 1];
    }
    // At `point` and -point, times `over`.
    [[gnu::always_inline]] static void apply_pair(const Vector* x, float point, float over,
                                                  Vector* y) {
      Vector even = over * x[0], odd = (over * point) * x[1];
#pragma GCC unroll 4
      for (int k = 2; k < kIn; ++k) (k % 2 == 0 ? even : odd) += (over * power(point, k)) * x[k];
      y[0] = even + odd;
      y[1] = even - odd;
    }
  };

  // The transpose of ValuesAxis: A^T for pixels of a result, G^T for taps of a weight's gradient.
  template <int kCoefficients, bool kOver>
  struct CoefficientsAxis {
    static constexpr int kIn = kSide, kOut = kCoefficients;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      const Vector even_a = x[1] + x[2], odd_a = x[1] - x[2];
      const Vector even_b = x[3] + x[4], odd_b = x[3] - x[4];
#pragma GCC unroll 5
      for (int k = 0; k < kOut; ++k) {
        y[k] = ((kOver ? kOverA : 1) * power(kA, k)) * (k % 2 == 0 ? even_a : odd_a) +
               ((kOver ? kOverB : 1) * power(kB, k)) * (k % 2 == 0 ? even_b : odd_b);
      }
      y[0] += (kOver ? kOver0 : 1) * x[0];
      y[kOut - 1] += x[5];
    }
  };

  // Applies an axis to the columns of a square and then to its rows.
  template <typename Axis, typename Load, typename Store>
  [[gnu::always_inline]] static void transform(const Load& load, const Store& store) {
    Vector half[Axis::kOut][Axis::kIn];
    for (int j = 0; j < Axis::kIn; ++j) {
      Vector in[Axis::kIn], out[Axis::kOut];
      for (int i = 0; i < Axis::kIn; ++i) in[i] = load(i, j);
      Axis::apply(in, out);
      for (int i = 0; i < Axis::kOut; ++i) half[i][j] = out[i];
    }
    for (int i = 0; i < Axis::kOut; ++i) {
      Vector out[Axis::kOut];
      Axis::apply(half[i], out);
      for (int j = 0; j < Axis::kOut; ++j) store(i, j, out[j]);
    }
  }

  // The first `left` floats of a vector, where it is not kWhole; the others are 0.
  template <bool kWhole>
  [[gnu::always_inline]] static Vector load(const float* from, Index left) {
    if constexpr (kWhole) return *reinterpret_cast<const Unaligned*>(from);
    Vector vector = {};
    for (int i = 0; i < kWidth && i < left; ++i) vector[i] = from[i];
    return vector;
  }
  template <bool kWhole>
  [[gnu::always_inline]] static void store(float* to, Vector vector, Index left) {
    if constexpr (kWhole) {
      *reinterpret_cast<Unaligned*>(to) = vector;
    } else {
      for (int i = 0; i < kWidth && i < left; ++i) to[i] = vector[i];
    }
  }

  struct Whole {
    static constexpr bool kValue = true;
  };
  struct Part {
    static constexpr bool kValue = false;
  };
  // Calls body(first channel, channels from there on, whole) for each vector of channels.
  template <typename Body>
  [[gnu::always_inline]] static void for_each_vector(Index channels, Index written,
                                                     const Body& body) {
    Index channel = 0;
    for (; channel + kWidth <= channels; channel += kWidth)
      body(channel, channels - channel, Whole());
    for (; channel < written; channel += kWidth) body(channel, channels - channel, Part());
  }

  // Writes the rows of a tile for all positions. pixel(i, j) points at the first channel.
  template <typename Axis, typename Pixel>
  [[gnu::always_inline]] static void transform_rows(const Pixel& pixel, Index channels,
                                                    const WinogradRows& to) {
    for_each_vector(channels, to.channels, [&](Index channel, Index left, auto whole) {
      float* const at = to.at + channel / kColumns * to.panel + channel % kColumns;
      transform<Axis>([&](int i, int j) { return load<whole.kValue>(pixel(i, j) + channel, left); },
                      [&](int i, int j, Vector value) {
                        store<true>(at + (i * Axis::kOut + j) * to.position, value, kWidth);
                      });
    });
  }

  static void transform_image(const float* const* pixels, Index channels, WinogradRows to) {
    transform_rows<ImageAxis>([=](int i, int j) { return pixels[i * kSide + j]; }, channels, to);
  }

  static void transform_gradient(const float* const* pixels, Index channels, WinogradRows to,
                                 float* sums) {
    transform_rows<ValuesAxis<kOutputs, false>>(
        [=](int i, int j) { return pixels[i * kOutputs + j]; }, channels, to);
    if (sums == nullptr) return;
    for_each_vector(channels, channels, [&](Index channel, Index left, auto whole) {
      Vector sum = load<whole.kValue>(sums + channel, left);
      for (int i = 0; i < kOutputs * kOutputs; ++i)
        sum += load<whole.kValue>(pixels[i] + channel, left);
      store<whole.kValue>(sums + channel, sum, left);
    });
  }

  static void transform_weight(const float* taps, Index tap, Index channels, WinogradRows to) {
    transform_rows<ValuesAxis<kTaps, true>>(
        [=](int i, int j) { return taps + (i * kTaps + j) * tap; }, channels, to);
  }

  static void finish_image(const WinogradRows& from, const float* bias, bool relu,
                           float* const* pixels) {
    for_each_vector(from.channels, from.channels, [&](Index channel, Index left, auto whole) {
      const Vector none = {};
      const Vector added = bias == nullptr ? none : load<whole.kValue>(bias + channel, left);
      transform<CoefficientsAxis<kOutputs, false>>(
          [&](int i, int j) {
            return load<true>(from.at + (i * kSide + j) * from.position + channel, kWidth);
          },
          [&](int i, int j, Vector value) {
            float* const pixel = pixels[i * kOutputs + j];
            if (pixel == nullptr) return;
            value += added;
            if (relu) value = value < none ? none : value;
            store<whole.kValue>(pixel + channel, value, left);
          });
    });
  }

  static void finish_weight(const WinogradRows& from, float* taps, Index tap) {
    for_each_vector(from.channels, from.channels, [&](Index channel, Index left, auto whole) {
      transform<CoefficientsAxis<kTaps, true>>(
          [&](int i, int j) {
            return load<true>(from.at + (i * kSide + j) * from.position + channel, kWidth);
          },
          [&](int i, int j, Vector value) {
            store<whole.kValue>(taps + (i * kTaps + j) * tap + channel, value, left);
          });
    });
  }
};

}  // namespace skyline
