#include "layers/initializers.h"

#include <cmath>

namespace skyline {
namespace {

// Element i is number i mod 4 of the four at counter i / 4.
std::vector<float> normal(RandomStream& random, std::int64_t elements, double deviation) {
  const Philox philox{random.seed};
  const std::uint64_t stream = random.take();
  const auto scale = static_cast<float>(deviation);
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto words = philox(stream, i / 4);
    const auto low = normal_pair(words[0], words[1]);
    const auto high = normal_pair(words[2], words[3]);
    const float four[] = {low[0], low[1], high[0], high[1]};
    for (std::size_t j = 0; j < 4 && i + j < values.size(); ++j) values[i + j] = scale * four[j];
  }
  return values;
}

}  // namespace

std::vector<float> lecun_normal(RandomStream& random, std::int64_t elements, std::int64_t fan_in) {
  return normal(random, elements, std::sqrt(1.0 / static_cast<double>(fan_in)));
}

std::vector<float> he_normal(RandomStream& random, std::int64_t elements, std::int64_t fan_in) {
  return normal(random, elements, std::sqrt(2.0 / static_cast<double>(fan_in)));
}

}  // namespace skyline
