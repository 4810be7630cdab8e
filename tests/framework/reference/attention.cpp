#include "tests/framework/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace skyline::reference {

HostTensor attention(const HostTensor& qkv, const AttentionParams& params) {
  const std::int64_t words = qkv.shape[0] / params.sequences, channels = qkv.shape[1] / 3;
  const std::int64_t size = channels / params.heads;
  HostTensor y({qkv.shape[0], channels});
  for (std::int64_t first = 0; first < qkv.shape[0]; first += words) {
    for (std::int64_t head = 0; head < channels; head += size) {
      for (std::int64_t i = 0; i < words; ++i) {
        std::vector<double> scores;
        for (std::int64_t j = 0; j <= i; ++j) {
          double score = 0;
          for (std::int64_t c = head; c < head + size; ++c) {
            score += qkv.at(first + i, c) * qkv.at(first + j, channels + c);
          }
          scores.push_back(score / std::sqrt(double(size)));
        }
        const double largest = *std::ranges::max_element(scores);
        double total = 0;
        for (double& score : scores) total += score = std::exp(score - largest);
        for (std::int64_t j = 0; j <= i; ++j) {
          for (std::int64_t c = head; c < head + size; ++c) {
            y.at(first + i, c) +=
                scores[std::size_t(j)] / total * qkv.at(first + j, 2 * channels + c);
          }
        }
      }
    }
  }
  return y;
}

}  // namespace skyline::reference
