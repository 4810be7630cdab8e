#pragma once

#include "framework/ops/connection/conv2d.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

HostTensor conv2d(const HostTensor& x, const HostTensor& weight, const HostTensor& bias,
                  const Conv2dParams& params);

struct Conv2dGradients {
  HostTensor x, weight, bias;
};

Conv2dGradients conv2d_gradients(const HostTensor& x, const HostTensor& weight,
                                 const HostTensor& grad_output, const Conv2dParams& params);

}  // namespace skyline::reference
