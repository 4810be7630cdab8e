// What host data cost beside a training step: one drawn image, one decoded image, one batch.
#include <benchmark/benchmark.h>

#include "data/loader.h"
#include "data/shapes.h"
#include "framework/philox.h"

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

// Batches of 128 as a trainer takes them that does nothing else; items are images.
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

void shuffled_order_of_60000(benchmark::State& state) {
  std::uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(shuffled_order(60'000, epoch++, Philox{.seed = 1}));
}
BENCHMARK(shuffled_order_of_60000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace skyline
