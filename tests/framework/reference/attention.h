#pragma once

#include "framework/ops/attention/attention.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

HostTensor attention(const HostTensor& qkv, const AttentionParams& params);

}  // namespace skyline::reference
