#include "tests/framework/reference/linear.h"

namespace skyline::reference {

HostTensor linear(const HostTensor& x, const HostTensor& weight, const HostTensor& bias) {
  HostTensor y(Shape{x.shape[0], weight.shape[0]});
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t o = 0; o < y.shape[1]; ++o) {
      double sum = bias.values.empty() ? 0 : bias[o];
      for (std::int64_t f = 0; f < x.shape[1]; ++f) sum += x.at(n, f) * weight.at(o, f);
      y.at(n, o) = sum;
    }
  return y;
}

LinearGradients linear_gradients(const HostTensor& x, const HostTensor& weight,
                                 const HostTensor& grad_output) {
  LinearGradients gradients{HostTensor(x.shape), HostTensor(weight.shape),
                            HostTensor(Shape{weight.shape[0]})};
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t o = 0; o < weight.shape[0]; ++o) {
      const double grad = grad_output.at(n, o);
      gradients.bias[o] += grad;
      for (std::int64_t f = 0; f < x.shape[1]; ++f) {
        gradients.x.at(n, f) += grad * weight.at(o, f);
        gradients.weight.at(o, f) += grad * x.at(n, f);
      }
    }
  return gradients;
}

}  // namespace skyline::reference
