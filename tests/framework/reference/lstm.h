#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// Gates i f g o, each a block of H rows.
struct LstmLayer {
  HostTensor w;  // [4H, in]
  HostTensor u;  // [4H, H]
  HostTensor bias_w;
  HostTensor bias_u;
};

struct LstmWord {
  std::vector<double> h, c;
};

// One word of one sentence through one layer.
LstmWord lstm_word(const LstmLayer& layer, const std::vector<double>& x, const LstmWord& before);

struct LstmInput {
  HostTensor x;     // packed [R, in]
  HostTensor h, c;  // [L * B, H]
  std::vector<LstmLayer> layers;
  std::vector<int> lengths;  // longest first
  // The factor of output `unit` of layer `layer` (from 0) at a packed row, on its way up.
  std::function<double(std::size_t layer, std::int64_t row, std::int64_t unit)> dropout =
      [](std::size_t, std::int64_t, std::int64_t) { return 1.0; };

  // Returns the packed row of word `step` of sentence k.
  std::int64_t row(std::int64_t k, std::int64_t step) const {
    std::int64_t before = 0;
    for (std::size_t other = 0; other < lengths.size(); ++other) {
      before += std::min<std::int64_t>(step, lengths[other]);
    }
    return before + k;
  }
};

struct LstmResult {
  HostTensor y, h, c;
};

// Sentence by sentence, layer by layer, word by word.
LstmResult lstm(const LstmInput& input);

// One tensor after the other.
HostTensor concat_rows(const std::vector<HostTensor>& xs);

}  // namespace skyline::reference
