#include "data/batch_order.h"

#include <numeric>
#include <utility>

namespace skyline {

std::size_t random_below(std::size_t bound, std::uint32_t high, std::uint32_t low) {
  const std::uint64_t word = std::uint64_t{high} << 32 | low;
  return static_cast<std::size_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
}

BatchPosition within_epoch(BatchPosition position, std::size_t batches_per_epoch) {
  if (position.batch < batches_per_epoch) return position;
  return {position.epoch + 1, 0};
}

std::vector<std::size_t> shuffled_order(std::size_t size, std::uint64_t epoch,
                                        const RandomBits& random, DataStream stream) {
  std::vector<std::size_t> order = ascending_order(size);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = size; i > 1; --i) {
    const std::size_t draw = size - i;  // two draws per counter
    if (draw % 2 == 0) {
      words = random(static_cast<std::uint64_t>(stream), epoch << 32 | draw / 2);
    }
    const std::size_t word = 2 * (draw % 2);
    std::swap(order[i - 1], order[random_below(i, words[word], words[word + 1])]);
  }
  return order;
}

std::vector<std::size_t> ascending_order(std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::size_t batches_per_epoch(const std::string& data, const BatchCut& cut, const char* noun) {
  const std::size_t size = cut.samples, batch = cut.batch_size;
  if (batch == 0 || batch > size) {
    throw DataError(data, "batch size", std::to_string(batch),
                    "1 to " + std::to_string(size) + ", the number of " + noun);
  }
  std::size_t batches = cut.drop_last ? size / batch : (size + batch - 1) / batch;
  if (cut.step_batches == 0 || cut.step_batches > batches) {
    throw DataError(data, "batches of a step", std::to_string(cut.step_batches),
                    "1 to " + std::to_string(batches) + ", the batches of " + std::to_string(size) +
                        " " + noun);
  }
  batches -= batches % cut.step_batches;
  if (cut.start.batch > batches) {
    throw DataError(data, "first batch", std::to_string(cut.start.batch),
                    "at most " + std::to_string(batches) + ", the batches of an epoch");
  }
  return batches;
}

}  // namespace skyline
