#pragma once

#include "framework/ops/normalization/local_response_norm.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

HostTensor local_response_norm(const HostTensor& x, const LocalResponseNormParams& params);

}  // namespace skyline::reference
