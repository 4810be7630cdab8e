#pragma once

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

struct Moments {
  HostTensor mean, variance;  // biased
};

// Returns how many numbers a channel has.
double per_channel(const Shape& x);

Moments moments(const HostTensor& x);

HostTensor normalize(const HostTensor& x, const HostTensor& gamma, const HostTensor& beta,
                     const Moments& statistics, double epsilon);

HostTensor batch_norm(const HostTensor& x, const HostTensor& gamma, const HostTensor& beta,
                      double epsilon);

struct BatchNormGradients {
  HostTensor x, gamma, beta;
};

// Ioffe and Szegedy 2015, section 3, collected: with xhat the normalized x and m its count,
// grad_x = gamma / sqrt(variance + epsilon) (g - sum(g) / m - xhat sum(g xhat) / m).
BatchNormGradients batch_norm_gradients(const HostTensor& x, const HostTensor& gamma,
                                        const HostTensor& grad_output, double epsilon);

}  // namespace skyline::reference
