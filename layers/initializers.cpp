#include "layers/initializers.h"

#include <cmath>

namespace skyline {
namespace {

InitialValues normal(RandomStream& random, double variance) {
  return {.philox = {random.seed},
          .stream = random.take(),
          .deviation = static_cast<float>(std::sqrt(variance))};
}

}  // namespace

void InitialValues::draw(std::uint64_t first, std::span<float> values) const {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto words = philox(stream, (first + i) / 4);
    const auto low = normal_pair(words[0], words[1]);
    const auto high = normal_pair(words[2], words[3]);
    const float four[] = {low[0], low[1], high[0], high[1]};
    for (std::size_t j = 0; j < 4 && i + j < values.size(); ++j) {
      values[i + j] = deviation * four[j];
    }
  }
}

InitialValues lecun_normal(RandomStream& random, std::int64_t fan_in) {
  return normal(random, 1.0 / static_cast<double>(fan_in));
}

InitialValues he_normal(RandomStream& random, std::int64_t fan_in) {
  return normal(random, 2.0 / static_cast<double>(fan_in));
}

Initializer normal_of(double deviation) {
  return [deviation](RandomStream& random, std::int64_t) {
    return normal(random, deviation * deviation);
  };
}

}  // namespace skyline
