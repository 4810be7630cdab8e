#include <algorithm>

#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Works on tiles of whole pixels, small enough that their intermediates stay in the first-level
// cache, and finishes each stage for the whole tile before the next: reading a window right after
// the vectors it straddles were written would stall. The channels of large pixels come in blocks.
struct Tiling {
  static constexpr std::int64_t kFloats = 2048;  // of one intermediate
  static constexpr std::int64_t kMaxMargin = kLocalResponseNormMaxSize - 1;

  // Each pixel has room for a block of channels and for `margin` channels before it.
  Tiling(std::int64_t channels, std::int64_t margin)
      : block(std::min(channels + margin, kFloats - kMaxMargin)), pitch(margin + block) {}

  std::int64_t block, pitch;
};

// to[i] is the square of channel begin + i, 0 if there is no such channel.
void write_squares(const float* x, std::int64_t channels, std::int64_t begin, std::int64_t count,
                   float* to) {
  const std::int64_t first = std::clamp<std::int64_t>(-begin, 0, count);
  const std::int64_t last = std::clamp<std::int64_t>(channels - begin, first, count);
  std::fill(to, to + first, 0.0f);
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) to[i] = x[begin + i] * x[begin + i];
  std::fill(to + last, to + count, 0.0f);
}

// Moves the last `margin` values of a block of `count` in front of the next block.
void carry(float* values, std::int64_t count, std::int64_t margin) {
  std::copy(values + count, values + count + margin, values);
}

template <typename Half, typename Power>
class LocalResponseNormCpu {
 public:
  LocalResponseNormCpu(const LocalResponseNormProblem& problem, Half half, Power power)
      : problem_(problem), half_(half), power_(power), tiling_(problem.channels, 2 * half) {}

  void run(const KernelArguments& arguments) const {
    for_each_tile([&](std::int64_t at, std::int64_t count) {
      run_tile(arguments.input<float>(0) + at, arguments.output<float>(0) + at, count);
    });
  }
  void run_gradient(const KernelArguments& arguments) const {
    for_each_tile([&](std::int64_t at, std::int64_t count) {
      run_tile(arguments.input<float>(0) + at, arguments.input<float>(1) + at,
               arguments.output<float>(0) + at, count);
    });
  }

 private:
  // Calls body(place of the first float, number of pixels) for every tile.
  template <typename Body>
  void for_each_tile(const Body& body) const {
    const std::int64_t pixels = problem_.pixels, channels = problem_.channels;
    const std::int64_t tile = Tiling::kFloats / tiling_.pitch;
    for_each_index(
        (pixels + tile - 1) / tile, pixels * channels >= kSerialTranscendental,
        [&](std::int64_t i) { body(i * tile * channels, std::min(tile, pixels - i * tile)); });
  }

  // Squares are read `half` channels ahead of the writes, so that y may be x.
  void run_tile(const float* x, float* y, std::int64_t pixels) const {
    const std::int64_t channels = problem_.channels, margin = 2 * half_, pitch = tiling_.pitch;
    float squares[Tiling::kFloats];
    for (std::int64_t p = 0; p < pixels; ++p) {
      write_squares(x + p * channels, channels, -half_, margin, squares + p * pitch);
    }
    for (std::int64_t begin = 0; begin < channels; begin += tiling_.block) {
      const std::int64_t count = std::min(tiling_.block, channels - begin);
      for (std::int64_t p = 0; p < pixels; ++p) {
        write_squares(x + p * channels, channels, begin + half_, count,
                      squares + p * pitch + margin);
      }
      for (std::int64_t p = 0; p < pixels; ++p) {
        const std::int64_t at = p * channels + begin;
        normalize(x + at, squares + p * pitch, count, y + at);
        carry(squares + p * pitch, count, margin);
      }
    }
  }

  void normalize(const float* x, const float* squares, std::int64_t count, float* y) const {
    const float k = problem_.params.k, alpha = problem_.params.alpha;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = x[i] * power_(k + alpha * window_sum(squares + i, half_)).normal;
    }
  }

  // A tile's intermediates, for channels from `begin - margin` on.
  struct Intermediates {
    float squares[Tiling::kFloats];  // x^2, but from begin - half on
    float scaled[Tiling::kFloats];   // grad_output * s^-beta
    float terms[Tiling::kFloats];    // grad_output * x * s^(-beta - 1)
  };

  // Gradients are written `half` channels behind the terms, so that the output may be an input.
  void run_tile(const float* x, const float* grad_output, float* grad_input,
                std::int64_t pixels) const {
    const std::int64_t channels = problem_.channels, margin = 2 * half_, pitch = tiling_.pitch;
    Intermediates tile;
    for (std::int64_t p = 0; p < pixels; ++p) {
      write_squares(x + p * channels, channels, -half_, margin, tile.squares + p * pitch);
      std::fill_n(tile.terms + p * pitch, margin, 0.0f);
    }
    for (std::int64_t begin = 0; begin < channels + half_; begin += tiling_.block) {
      const std::int64_t count = std::min(tiling_.block, channels + half_ - begin);
      for (std::int64_t p = 0; p < pixels; ++p) {
        write_squares(x + p * channels, channels, begin + half_, count,
                      tile.squares + p * pitch + margin);
      }
      for (std::int64_t p = 0; p < pixels; ++p) {
        write_terms(x + p * channels, grad_output + p * channels, begin, count, p * pitch, tile);
        carry(tile.squares + p * pitch, count, margin);
      }
      for (std::int64_t p = 0; p < pixels; ++p) {
        write_gradients(x + p * channels, begin - half_, count, p * pitch, tile,
                        grad_input + p * channels);
        carry(tile.scaled + p * pitch, count, margin);
        carry(tile.terms + p * pitch, count, margin);
      }
    }
  }

  // Writes the terms of channels [begin, begin + count) of one pixel, whose intermediates start at
  // `at`.
  void write_terms(const float* x, const float* grad_output, std::int64_t begin, std::int64_t count,
                   std::int64_t at, Intermediates& tile) const {
    const float k = problem_.params.k, alpha = problem_.params.alpha;
    const std::int64_t inside = std::clamp<std::int64_t>(problem_.channels - begin, 0, count);
    const float* squares = tile.squares + at;
    float* scaled = tile.scaled + at + 2 * half_;
    float* terms = tile.terms + at + 2 * half_;
#pragma omp simd
    for (std::int64_t i = 0; i < inside; ++i) {
      const Powers powers = power_(k + alpha * window_sum(squares + i, half_));
      scaled[i] = grad_output[begin + i] * powers.normal;
      terms[i] = scaled[i] * x[begin + i] * powers.reciprocal;
    }
    std::fill(terms + inside, terms + count, 0.0f);
  }

  // Writes the gradients of channels [begin, begin + count), leaving out those below 0.
  void write_gradients(const float* x, std::int64_t begin, std::int64_t count, std::int64_t at,
                       const Intermediates& tile, float* grad_input) const {
    const float factor = -2 * problem_.params.alpha * problem_.params.beta;
    const float* scaled = tile.scaled + at + half_;
    const float* terms = tile.terms + at;
#pragma omp simd
    for (std::int64_t i = std::max<std::int64_t>(0, -begin); i < count; ++i) {
      grad_input[begin + i] = scaled[i] + factor * x[begin + i] * window_sum(terms + i, half_);
    }
  }

  LocalResponseNormProblem problem_;
  Half half_;
  Power power_;
  Tiling tiling_;
};

}  // namespace

std::unique_ptr<Kernel> make_local_response_norm_cpu(const LocalResponseNormProblem& problem) {
  return with_window(problem.params, [&](auto half, auto power) {
    return make_kernel([norm = LocalResponseNormCpu(problem, half, power)](
                           const KernelArguments& arguments) { norm.run(arguments); });
  });
}

std::unique_ptr<Kernel> make_local_response_norm_grad_cpu(const LocalResponseNormProblem& problem) {
  return with_window(problem.params, [&](auto half, auto power) {
    return make_kernel([norm = LocalResponseNormCpu(problem, half, power)](
                           const KernelArguments& arguments) { norm.run_gradient(arguments); });
  });
}

}  // namespace skyline
