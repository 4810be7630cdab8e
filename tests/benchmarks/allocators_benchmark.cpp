// Request plus free, with 0, 100 and 1000 other blocks alive, on the simulated device.
#include <benchmark/benchmark.h>

#include <vector>

#include "memory/allocators/best_fit_pool.h"
#include "memory/allocators/network_wise.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

constexpr std::size_t kSizes[] = {512, 65536, 4096, 1048576, 16384, 262144};

std::size_t size_of(std::size_t index) { return kSizes[index % std::size(kSizes)] + index; }

// `count` blocks of many sizes, each followed by a free chunk, so that the index has entries.
std::vector<Block> live_blocks(Allocator& allocator, std::size_t count) {
  std::vector<Block> live, gaps;
  for (std::size_t i = 0; i < count; ++i) {
    live.push_back(allocator.allocate(size_of(i)));
    gaps.push_back(allocator.allocate(size_of(i + 1)));
  }
  return live;
}

void pool_request_and_free(benchmark::State& state) {
  SimulatedDevice device;
  BestFitPool pool(device);
  const auto live = live_blocks(pool, static_cast<std::size_t>(state.range(0)));
  std::size_t request = 0;
  for (auto _ : state) {
    Block block = pool.allocate(size_of(request++ % 64));
    benchmark::DoNotOptimize(block.address());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(pool_request_and_free)->Arg(0)->Arg(100)->Arg(1000);

// A step of 64 requests, over and over; begin_step's share is included.
void network_wise_request_and_free(benchmark::State& state) {
  SimulatedDevice device;
  NetworkWise allocator(device);
  const auto live = live_blocks(allocator, static_cast<std::size_t>(state.range(0)));
  std::size_t request = 0;
  for (auto _ : state) {
    if (request % 64 == 0) allocator.begin_step(0);
    Block block = allocator.allocate(size_of(request++ % 64));
    benchmark::DoNotOptimize(block.address());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(network_wise_request_and_free)->Arg(0)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace skyline
