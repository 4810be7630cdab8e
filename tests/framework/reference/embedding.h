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

// ids [B, T]; the sum of a word's row and that of its place.
inline HostTensor embedding_sum(const HostTensor& ids, const HostTensor& words,
                                const HostTensor& places) {
  const HostTensor flat(Shape{ids.elements()}, ids.values);
  HostTensor y = embedding(flat, words);
  for (std::int64_t row = 0; row < y.shape[0]; ++row) {
    for (std::int64_t c = 0; c < y.shape[1]; ++c) {
      y.at(row, c) += places.at(row % ids.shape[1], c);
    }
  }
  return y;
}

}  // namespace skyline::reference
