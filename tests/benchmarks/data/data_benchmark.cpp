// Times host data: one drawn image, one decoded image, one batch.
//   data_benchmark
//   SKYLINE_IMAGES=DIR data_benchmark --benchmark_filter=image    with your own image folder
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "data/images/shapes.h"
#include "data/loader.h"
#include "framework/philox.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

void shapes_read(benchmark::State& state) {
  const int side = static_cast<int>(state.range(0)), channels = static_cast<int>(state.range(1));
  const ShapesDataset data({.size = 1000, .channels = channels, .height = side, .width = side},
                           Split::kTrain, Philox{.seed = 1});
  std::vector<float> image(data.image_shape().elements());
  std::int32_t label = 0;
  std::size_t index = 0;
  for (auto _ : state) {
    data.read({.index = index++ % data.size()}, image.data(), &label);
    benchmark::DoNotOptimize(image.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(shapes_read)
    ->ArgNames({"side", "channels"})
    ->Args({32, 3})
    ->Args({28, 1})
    ->Args({224, 3});

// Takes batches of 128 as fast as the loader makes them; items are images.
void loader_next(benchmark::State& state) {
  constexpr std::size_t kBatch = 128;
  const ShapesDataset data({}, Split::kTrain, Philox{.seed = 1});
  Loader loader(data, {.batch_size = kBatch, .prefetch = static_cast<std::size_t>(state.range(0))},
                Philox{.seed = 1});
  Batch batch;
  for (auto _ : state) loader.next(batch);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(loader_next)->ArgName("prefetch")->Arg(0)->Arg(2)->UseRealTime();

// A temporary folder with 64 PNGs of 300 x 200 pixels: noise over gradients.
class GeneratedFolder {
 public:
  GeneratedFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "skyline-images-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    for (int i = 0; i < 64; ++i) {
      const std::string file = std::to_string(i) + ".png";
      tests::write_file(path_ / "train/a" / file, picture(i));
    }
    tests::write_file(path_ / "val/a/0.png", picture(0));
  }
  ~GeneratedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  GeneratedFolder(const GeneratedFolder&) = delete;
  GeneratedFolder& operator=(const GeneratedFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  static tests::FileBytes picture(int number) {
    constexpr int kWidth = 300, kHeight = 200;
    std::vector<std::uint8_t> samples;
    std::uint32_t noise = static_cast<std::uint32_t>(number) + 1;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        noise = noise * 1664525u + 1013904223u;  // Numerical Recipes' generator
        const std::uint32_t grain = noise >> 29;
        for (const int part : {x, y, x + y + number}) {
          samples.push_back(
              static_cast<std::uint8_t>(static_cast<std::uint32_t>(part) / 4 + grain));
        }
      }
    }
    return tests::png(kWidth, kHeight, tests::PngColour::kRgb, samples);
  }
  std::filesystem::path path_;
};

std::shared_ptr<const ImageCollection> images() {
  static const auto collection = [] {
    const char* folder = std::getenv("SKYLINE_IMAGES");
    static std::unique_ptr<GeneratedFolder> generated;
    if (folder == nullptr) generated = std::make_unique<GeneratedFolder>();
    return std::make_shared<const ImageCollection>(
        scan_image_folder(folder != nullptr ? folder : generated->path()));
  }();
  return collection;
}

ImageDataset image_dataset(int insize) {
  return {images(),
          Split::kTrain,
          {.insize = insize, .side = side_for(insize)},
          BadImagePolicy::kSkip,
          Philox{.seed = 1},
          std::make_shared<BadImages>()};
}

// Reads, decodes, scales, crops and mirrors one image file.
void image_read(benchmark::State& state) {
  const ImageDataset data = image_dataset(static_cast<int>(state.range(0)));
  std::vector<float> image(data.image_shape().elements());
  std::int32_t label = 0;
  std::size_t index = 0;
  for (auto _ : state) {
    data.read({.index = index++ % data.size()}, image.data(), &label);
    benchmark::DoNotOptimize(image.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(image_read)->ArgName("insize")->Arg(224)->Arg(48);

// Takes batches of 32 as fast as the loader makes them; items are images.
void image_loader_next(benchmark::State& state) {
  constexpr std::size_t kBatch = 32;
  const ImageDataset data = image_dataset(224);
  Loader loader(data, {.batch_size = kBatch, .threads = static_cast<std::size_t>(state.range(0))},
                Philox{.seed = 1});
  Batch batch;
  for (auto _ : state) loader.next(batch);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(image_loader_next)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

void shuffled_order_of_60000(benchmark::State& state) {
  std::uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(shuffled_order(60'000, epoch++, Philox{.seed = 1}));
}
BENCHMARK(shuffled_order_of_60000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace skyline
