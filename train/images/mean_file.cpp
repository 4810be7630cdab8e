#include "train/images/mean_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/finite_tensor.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {
namespace {

constexpr const char* kTensor = "mean";
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point started) {
  return std::chrono::duration<double>(Clock::now() - started).count();
}

std::string mean_text(const MeanImage& mean, const Dataset& images, double seconds) {
  const std::size_t all = images.size(), chosen = std::min(all, kMostMeanImages);
  std::string text = fmt::format("mean of {} training image{} taken in {:.2f} s", mean.images,
                                 mean.images == 1 ? "" : "s", seconds);
  if (chosen < all) text += fmt::format("; {} of {} were chosen at random", chosen, all);
  if (mean.images < chosen) text += fmt::format("; {} could not be read", chosen - mean.images);
  return text;
}

}  // namespace

void write_mean(const std::filesystem::path& folder, const MeanImage& mean) {
  const auto read = [&mean](std::uint64_t offset, std::span<std::byte> piece) {
    std::ranges::copy(std::as_bytes(std::span(mean.values)).subspan(offset, piece.size()),
                      piece.begin());
  };
  const StoredTensor tensor{.name = kTensor, .shape = {mean.side, mean.side, 3}, .read = read};
  write_safetensors(folder / kMeanFile, {&tensor, 1});
}

std::shared_ptr<const MeanImage> read_mean(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kMeanFile;
  if (!std::filesystem::exists(path)) return nullptr;
  const Safetensors file = read_safetensors(path);
  const StoredTensor* tensor = file.find(kTensor);
  const bool fits = tensor != nullptr && tensor->dtype == StoredType::kF32 &&
                    tensor->shape.size() == 3 && tensor->shape[0] == tensor->shape[1] &&
                    tensor->shape[2] == 3;
  if (!fits) throw SafetensorsError(path.string(), "no mean image of shape [side, side, 3]");
  auto mean = std::make_shared<MeanImage>();
  mean->side = static_cast<int>(tensor->shape[0]);
  mean->values.resize(tensor->bytes() / sizeof(float));
  finite(*tensor, path.string()).read(0, std::as_writable_bytes(std::span(mean->values)));
  return mean;
}

std::shared_ptr<const MeanImage> stored_mean(const std::filesystem::path& folder) {
  std::shared_ptr<const MeanImage> mean = read_mean(folder);
  if (mean != nullptr) return mean;
  throw CheckpointError(
      fmt::format("{}: {} is missing, and there are no training images to compute the mean of",
                  folder.string(), kMeanFile));
}

std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              Console& console) {
  constexpr double kBetweenLines = 0.1;  // seconds
  const auto started = Clock::now();
  double shown = 0;
  std::shared_ptr<const MeanImage> mean =
      compute_mean(data, options, [&](std::size_t done, std::size_t images) {
        const double now = seconds_since(started);
        if (now - shown < kBetweenLines) return;
        shown = now;
        console.show_transient(fmt::format("mean image: {} of {} images", done, images));
      });
  console.wipe_transient();
  if (mean != nullptr) console.say(mean_text(*mean, *data.train, seconds_since(started)));
  return mean;
}

}  // namespace skyline
