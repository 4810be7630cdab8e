#include "tests/framework/reference/batch_norm.h"

#include <cmath>

namespace skyline::reference {
namespace {

template <typename Visit>
void for_each_element(const Shape& x, Visit visit) {
  for (std::int64_t n = 0; n < x[0]; ++n)
    for (std::int64_t c = 0; c < x[1]; ++c)
      for (std::int64_t h = 0; h < x[2]; ++h)
        for (std::int64_t w = 0; w < x[3]; ++w) visit(n, c, h, w);
}

}  // namespace

double per_channel(const Shape& x) { return static_cast<double>(x[0] * x[2] * x[3]); }

Moments moments(const HostTensor& x) {
  const Shape& shape = x.shape;
  const double count = per_channel(shape);
  Moments result{HostTensor(Shape{shape[1]}), HostTensor(Shape{shape[1]})};
  for_each_element(
      shape, [&](auto n, auto c, auto h, auto w) { result.mean[c] += x.at(n, c, h, w) / count; });
  for_each_element(shape, [&](auto n, auto c, auto h, auto w) {
    const double distance = x.at(n, c, h, w) - result.mean[c];
    result.variance[c] += distance * distance / count;
  });
  return result;
}

HostTensor normalize(const HostTensor& x, const HostTensor& gamma, const HostTensor& beta,
                     const Moments& statistics, double epsilon) {
  HostTensor y(x.shape);
  for_each_element(x.shape, [&](auto n, auto c, auto h, auto w) {
    const double scale = gamma[c] / std::sqrt(statistics.variance[c] + epsilon);
    y.at(n, c, h, w) = scale * (x.at(n, c, h, w) - statistics.mean[c]) + beta[c];
  });
  return y;
}

HostTensor batch_norm(const HostTensor& x, const HostTensor& gamma, const HostTensor& beta,
                      double epsilon) {
  return normalize(x, gamma, beta, moments(x), epsilon);
}

BatchNormGradients batch_norm_gradients(const HostTensor& x, const HostTensor& gamma,
                                        const HostTensor& grad_output, double epsilon) {
  const Shape& shape = x.shape;
  const Moments statistics = moments(x);
  const HostTensor xhat =
      normalize(x, HostTensor(gamma.shape, 1), HostTensor(gamma.shape), statistics, epsilon);
  BatchNormGradients gradients{HostTensor(x.shape), HostTensor(gamma.shape),
                               HostTensor(gamma.shape)};
  for_each_element(shape, [&](auto n, auto c, auto h, auto w) {
    gradients.gamma[c] += grad_output.at(n, c, h, w) * xhat.at(n, c, h, w);
    gradients.beta[c] += grad_output.at(n, c, h, w);
  });
  const double count = per_channel(shape);
  for_each_element(shape, [&](auto n, auto c, auto h, auto w) {
    gradients.x.at(n, c, h, w) = gamma[c] / std::sqrt(statistics.variance[c] + epsilon) *
                                 (grad_output.at(n, c, h, w) - gradients.beta[c] / count -
                                  xhat.at(n, c, h, w) * gradients.gamma[c] / count);
  });
  return gradients;
}

}  // namespace skyline::reference
