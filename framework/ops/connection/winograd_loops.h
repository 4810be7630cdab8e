#pragma once

#include <cstdint>

#include "framework/ops/connection/winograd_code.h"

// Included by one source for each kind of processor, which is compiled for it alone. So nothing
// here may be emitted twice: templates have the vector's width as a parameter, and no library is
// used.

namespace skyline {

template <int kWidth>
struct FloatVector {
  typedef float Type __attribute__((vector_size(kWidth * sizeof(float))));
  typedef float Unaligned
      __attribute__((vector_size(kWidth * sizeof(float)), aligned(sizeof(float)), may_alias));
};

// kWidth floats are a vector. A product keeps kRows x kVectors vectors in registers.
template <int kWidth, int kRows, int kVectors>
class WinogradLoops {
 public:
  static constexpr WinogradCode code() {
    return {.width = kWidth,
            .columns = kColumns,
            .rows = kRows,
            .transform_image = transform_image,
            .transform_gradient = transform_gradient,
            .transform_weight = transform_weight,
            .finish_image = finish_image,
            .finish_weight = finish_weight,
            .multiply = multiply};
  }

 private:
  using Index = std::int64_t;
  using Vector = typename FloatVector<kWidth>::Type;
  using Unaligned = typename FloatVector<kWidth>::Unaligned;
  static constexpr int kColumns = kWidth * kVectors;

  // The points are 0, ±5/8, ±3/2 and infinity (eight pairs tried). The largest errors are then
  // twice those of direct kernels, a quarter of those with Lavin's 0, ±1, ±2.
  static constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;
  // What divides a tap for point 0, for ±a and for ±b: the product of the distances to the others.
  static constexpr float kOver0 = 1 / (kA2 * kB2), kOverA = 1 / (2 * kA2 * (kA2 - kB2)),
                         kOverB = 1 / (2 * kB2 * (kB2 - kA2));

  // Lavin and Gray's matrices, one axis at a time: B^T of images, A of gradients, G of weights, and
  // A^T and G^T of what the products give.
  struct ImageAxis {
    static constexpr int kIn = 6, kOut = 6;
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
  struct GradientAxis {
    static constexpr int kIn = 4, kOut = 6;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      const Vector even_a = x[0] + kA2 * x[2], odd_a = kA * x[1] + (kA2 * kA) * x[3];
      const Vector even_b = x[0] + kB2 * x[2], odd_b = kB * x[1] + (kB2 * kB) * x[3];
      y[0] = x[0];
      y[1] = even_a + odd_a;
      y[2] = even_a - odd_a;
      y[3] = even_b + odd_b;
      y[4] = even_b - odd_b;
      y[5] = x[3];
    }
  };
  struct WeightAxis {
    static constexpr int kIn = 3, kOut = 6;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      const Vector even_a = kOverA * x[0] + (kOverA * kA2) * x[2], odd_a = (kOverA * kA) * x[1];
      const Vector even_b = kOverB * x[0] + (kOverB * kB2) * x[2], odd_b = (kOverB * kB) * x[1];
      y[0] = kOver0 * x[0];
      y[1] = even_a + odd_a;
      y[2] = even_a - odd_a;
      y[3] = even_b + odd_b;
      y[4] = even_b - odd_b;
      y[5] = x[2];
    }
  };
  struct ImageResultAxis {
    static constexpr int kIn = 6, kOut = 4;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      const Vector sum_a = x[1] + x[2], odd_a = x[1] - x[2];
      const Vector sum_b = x[3] + x[4], odd_b = x[3] - x[4];
      y[0] = x[0] + sum_a + sum_b;
      y[1] = kA * odd_a + kB * odd_b;
      y[2] = kA2 * sum_a + kB2 * sum_b;
      y[3] = (kA2 * kA) * odd_a + (kB2 * kB) * odd_b + x[5];
    }
  };
  struct WeightResultAxis {
    static constexpr int kIn = 6, kOut = 3;
    [[gnu::always_inline]] static void apply(const Vector* x, Vector* y) {
      const Vector sum_a = x[1] + x[2], odd_a = x[1] - x[2];
      const Vector sum_b = x[3] + x[4], odd_b = x[3] - x[4];
      y[0] = kOver0 * x[0] + kOverA * sum_a + kOverB * sum_b;
      y[1] = (kOverA * kA) * odd_a + (kOverB * kB) * odd_b;
      y[2] = (kOverA * kA2) * sum_a + (kOverB * kB2) * sum_b + x[5];
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
    transform_rows<ImageAxis>([=](int i, int j) { return pixels[i * 6 + j]; }, channels, to);
  }

  static void transform_gradient(const float* const* pixels, Index channels, WinogradRows to,
                                 float* sums) {
    transform_rows<GradientAxis>([=](int i, int j) { return pixels[i * 4 + j]; }, channels, to);
    if (sums == nullptr) return;
    for_each_vector(channels, channels, [&](Index channel, Index left, auto whole) {
      Vector sum = load<whole.kValue>(sums + channel, left);
      for (int i = 0; i < 16; ++i) sum += load<whole.kValue>(pixels[i] + channel, left);
      store<whole.kValue>(sums + channel, sum, left);
    });
  }

  static void transform_weight(const float* taps, Index tap, Index channels, WinogradRows to) {
    transform_rows<WeightAxis>([=](int i, int j) { return taps + (i * 3 + j) * tap; }, channels,
                               to);
  }

  static void finish_image(const WinogradRows& from, const float* bias, bool relu,
                           float* const* pixels) {
    for_each_vector(from.channels, from.channels, [&](Index channel, Index left, auto whole) {
      const Vector none = {};
      const Vector added = bias == nullptr ? none : load<whole.kValue>(bias + channel, left);
      transform<ImageResultAxis>(
          [&](int i, int j) {
            return load<true>(from.at + (i * 6 + j) * from.position + channel, kWidth);
          },
          [&](int i, int j, Vector value) {
            float* const pixel = pixels[i * 4 + j];
            if (pixel == nullptr) return;
            value += added;
            if (relu) value = value < none ? none : value;
            store<whole.kValue>(pixel + channel, value, left);
          });
    });
  }

  static void finish_weight(const WinogradRows& from, float* taps, Index tap) {
    for_each_vector(from.channels, from.channels, [&](Index channel, Index left, auto whole) {
      transform<WeightResultAxis>(
          [&](int i, int j) {
            return load<true>(from.at + (i * 6 + j) * from.position + channel, kWidth);
          },
          [&](int i, int j, Vector value) {
            store<whole.kValue>(taps + (i * 3 + j) * tap + channel, value, left);
          });
    });
  }

  // Computes some rows of a product; each element is a chain of fused multiply-adds in the order of
  // `left`'s columns, whatever rows are beside it.
  template <int kCount>
  [[gnu::always_inline]] static void multiply_rows(const WinogradProduct& product, Index row) {
    const float* const left = product.left + row * product.left_row;
    Vector sums[kCount][kVectors] = {};
    for (Index k = 0; k < product.depth; ++k) {
      Vector right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        right[v] = load<true>(product.right + k * kColumns + v * kWidth, kWidth);
      }
#pragma GCC unroll 12
      for (int r = 0; r < kCount; ++r) {
        const Vector factor = left[r * product.left_row + k * product.left_column] - Vector{};
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * right[v];
      }
    }
    float* const result = product.result + row * product.result_row;
#pragma GCC unroll 12
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        float* const at = result + r * product.result_row + v * kWidth;
        store<true>(at, product.adds ? load<true>(at, kWidth) + sums[r][v] : sums[r][v], kWidth);
      }
    }
  }

  // Rows that are left over from kRows at a time take fewer registers.
  template <int kCount>
  [[gnu::always_inline]] static void multiply_from(const WinogradProduct& product, Index row) {
    for (; row + kCount <= product.rows; row += kCount) multiply_rows<kCount>(product, row);
    if constexpr (kCount > 1) {
      multiply_from<(kCount > 8 ? 8 : kCount > 4 ? 4 : kCount / 2)>(product, row);
    }
  }

  static void multiply(const WinogradProduct& product) { multiply_from<kRows>(product, 0); }
};

}  // namespace skyline
