#pragma once

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

HostTensor layer_norm(const HostTensor& x, const HostTensor& weight, const HostTensor& bias,
                      double epsilon);

}  // namespace skyline::reference
