#include "tests/framework/reference/local_response_norm.h"

#include <cmath>

namespace skyline::reference {
namespace {

// Returns k + alpha times the squares of the channels at most size / 2 away.
double response_scale(const HostTensor& x, const LocalResponseNormParams& params, std::int64_t n,
                      std::int64_t c, std::int64_t h, std::int64_t w) {
  double sum = 0;
  for (std::int64_t d = c - params.size / 2; d <= c + params.size / 2; ++d) {
    if (d >= 0 && d < x.shape[1]) sum += x.at(n, d, h, w) * x.at(n, d, h, w);
  }
  return double{params.k} + double{params.alpha} * sum;
}

}  // namespace

HostTensor local_response_norm(const HostTensor& x, const LocalResponseNormParams& params) {
  HostTensor y(x.shape);
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t c = 0; c < x.shape[1]; ++c)
      for (std::int64_t h = 0; h < x.shape[2]; ++h)
        for (std::int64_t w = 0; w < x.shape[3]; ++w)
          y.at(n, c, h, w) = x.at(n, c, h, w) *
                             std::pow(response_scale(x, params, n, c, h, w), -double{params.beta});
  return y;
}

}  // namespace skyline::reference
