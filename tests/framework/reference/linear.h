#pragma once

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

HostTensor linear(const HostTensor& x, const HostTensor& weight, const HostTensor& bias);

struct LinearGradients {
  HostTensor x, weight, bias;
};

LinearGradients linear_gradients(const HostTensor& x, const HostTensor& weight,
                                 const HostTensor& grad_output);

}  // namespace skyline::reference
