#pragma once

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

inline HostTensor embedding(const HostTensor& ids, const HostTensor& table) {
  HostTensor y({ids.shape[0], table.shape[1]});
  for (std::int64_t row = 0; row < ids.shape[0]; ++row) {
    for (std::int64_t k = 0; k < table.shape[1]; ++k) {
      y.at(row, k) = table.at(static_cast<std::int64_t>(ids[row]), k);
    }
  }
  return y;
}

}  // namespace skyline::reference
