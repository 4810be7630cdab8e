#include "data/images/normalisation.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "data/batch_order.h"
#include "data/images/image_dataset.h"

namespace skyline {
namespace {

constexpr float kFraction = 256;  // sums count in units of 1/256 grey level
// Each thread has a sum of its own, of 2.4 MB at 256 x 256.
constexpr std::size_t kMostThreads = 64;

// The sum of one thread's images.
struct Sum {
  std::vector<std::uint64_t> values;
  std::size_t images = 0;
  std::vector<float> image;

  explicit Sum(std::size_t elements) : values(elements), image(elements) {}
  void add_image() {
    ++images;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<std::uint64_t>(image[i] * kFraction + 0.5f);
    }
  }
  void add(const Sum& other) {
    images += other.images;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
  }
};

std::vector<std::size_t> chosen_images(std::size_t size, std::size_t most,
                                       const RandomBits& random) {
  if (size <= most) return ascending_order(size);
  std::vector<std::size_t> order = shuffled_order(size, 0, random, DataStream::kMeanOrder);
  order.resize(most);
  return order;
}

}  // namespace

MeanImage mean_image(const ImageDataset& dataset, const RandomBits& random,
                     const MeanOptions& options) {
  const std::vector<std::size_t> chosen =
      chosen_images(dataset.size(), options.most_images, random);
  const std::size_t side = static_cast<std::size_t>(dataset.pipeline().side);
  const std::size_t workers =
      std::clamp<std::size_t>(options.threads, 1, std::min(kMostThreads, chosen.size()));
  require_host_memory(dataset.name(), "summing the mean image",
                      workers * side * side * 3 * (sizeof(std::uint64_t) + sizeof(float)));
  std::vector<Sum> sums(workers, Sum(side * side * 3));
  parallel_for(
      chosen.size(), sums.size(),
      [&](std::size_t worker, std::size_t i) {
        Sum& sum = sums[worker];
        if (dataset.read_resized(chosen[i], sum.image.data())) sum.add_image();
      },
      [&](std::size_t done) {
        if (options.progress) options.progress(done, chosen.size());
      });
  for (std::size_t worker = 1; worker < sums.size(); ++worker) sums[0].add(sums[worker]);
  if (sums[0].images == 0) {
    throw DataError(dataset.name(),
                    "none of " + std::to_string(chosen.size()) + " training images can be read");
  }
  MeanImage mean{.side = dataset.pipeline().side,
                 .values = std::vector<float>(side * side * 3),
                 .images = sums[0].images};
  const double scale = 1 / (static_cast<double>(kFraction) * static_cast<double>(sums[0].images));
  std::ranges::transform(sums[0].values, mean.values.begin(), [scale](std::uint64_t sum) {
    return static_cast<float>(static_cast<double>(sum) * scale);
  });
  return mean;
}

MeanImage channel_mean(const MeanImage& image) {
  std::array<double, 3> sums{};
  for (std::size_t i = 0; i < image.values.size(); ++i) sums[i % 3] += image.values[i];
  MeanImage mean = image;
  const double pixels = static_cast<double>(image.values.size() / 3);
  for (std::size_t i = 0; i < mean.values.size(); ++i) {
    mean.values[i] = static_cast<float>(sums[i % 3] / pixels);
  }
  return mean;
}

}  // namespace skyline
