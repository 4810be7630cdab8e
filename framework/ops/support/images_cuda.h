#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "framework/kernel.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/vectors_cuda.h"
#include "framework/shape.h"

// For CUDA sources only.

namespace skyline {

// Extents of images [N, C, H, W], stored channels-last.
struct ImageExtents {
  explicit ImageExtents(const Shape& image)
      : channels(image[1]), pixels(image[2] * image[3]), columns(static_cast<int>(image[3])) {}

  // Returns the offset of a pixel's first channel.
  __device__ std::int64_t offset(std::int64_t n, int row, int column) const {
    return (n * pixels + row * columns + column) * channels;
  }

  std::int64_t channels, pixels;
  int columns;
};

// Numbers the images' units of `width` channels, one thread each.
class PixelUnits {
 public:
  struct Place {
    std::int64_t n;
    int row, column;
    std::int64_t channel;
  };

  PixelUnits(const Shape& image, int width)
      : width_(width), rows_(image[2]), columns_(image[3]), units_per_pixel_(image[1] / width) {}

  __device__ Place operator()(std::int64_t index) const {
    const auto [pixel, unit] = units_per_pixel_(index);
    const auto [line, column] = columns_(pixel);
    const auto [n, row] = rows_(line);
    return {n, static_cast<int>(row), static_cast<int>(column), unit * width_};
  }

 private:
  int width_;
  Divider rows_, columns_, units_per_pixel_;
};

// Calls the function that make(width, units, arguments) returns for each unit of `width` channels
// of `written`, one thread each.
template <typename Make>
class PixelKernelCuda final : public Kernel {
 public:
  PixelKernelCuda(CudaCompute& compute, const Shape& written, bool in_fours, Make make)
      : compute_(compute), written_(written), in_fours_(in_fours), make_(std::move(make)) {}

  void run(const KernelArguments& arguments) override {
    with_width(in_fours_, [&](auto width) {
      for_each_index(compute_, written_.elements() / width,
                     make_(width, PixelUnits(written_, width), arguments));
    });
  }

 private:
  CudaCompute& compute_;
  Shape written_;
  bool in_fours_;
  Make make_;
};

template <typename Make>
std::unique_ptr<Kernel> make_pixel_kernel(CudaCompute& compute, const Shape& written, bool in_fours,
                                          Make make) {
  return std::make_unique<PixelKernelCuda<Make>>(compute, written, in_fours, std::move(make));
}

}  // namespace skyline
