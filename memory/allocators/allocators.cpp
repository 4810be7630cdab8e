#include "memory/allocators/allocators.h"

#include <fmt/core.h>

#include <stdexcept>

#include "memory/allocators/best_fit_pool.h"
#include "memory/allocators/bfc_allocator.h"
#include "memory/allocators/caching_allocator.h"
#include "memory/allocators/cuda_async.h"
#include "memory/allocators/exact_pool.h"
#include "memory/allocators/network_wise.h"
#include "memory/allocators/stitched_allocator.h"

namespace skyline {
namespace {

template <typename T>
std::unique_ptr<Allocator> make(Device& device, const AllocatorOptions&) {
  return std::make_unique<T>(device);
}

std::unique_ptr<Allocator> make_caching(Device& device, const AllocatorOptions& options) {
  return std::make_unique<CachingAllocator>(device, options.caching);
}

std::unique_ptr<Allocator> make_bfc(Device& device, const AllocatorOptions& options) {
  return std::make_unique<BfcAllocator>(device, options.bfc);
}

std::unique_ptr<Allocator> make_stitched(Device& device, const AllocatorOptions& options) {
  return std::make_unique<StitchedAllocator>(device, options.stitched);
}

constexpr AllocatorEntry kAllocators[] = {
    {"network-wise", "", "one slot a request, no reuse inside a step", kAlignmentBytes,
     make<NetworkWise>},
    {"exact-pool", "", "reuse of exactly equal sizes (CuPy 1, Chainer 1)", ExactPool::kUnitBytes,
     make<ExactPool>},
    {"best-fit-pool", "pool", "best-fit coalescing pool (CuPy 2.0, Chainer 3)", kAlignmentBytes,
     make<BestFitPool>},
    {"caching", "", "two pools of segments (PyTorch)", kAlignmentBytes, make_caching},
    {"bfc", "", "best fit with coalescing in growing regions (TensorFlow)",
     BfcAllocator::kUnitBytes, make_bfc},
    {"stitched", "", "pages behind ranges of addresses (GMLake)", kAlignmentBytes, make_stitched},
};

constexpr AllocatorEntry kCudaAllocators[] = {
    {"cuda-async", "", "the driver's stream-ordered pool (cudaMallocAsync)", kAlignmentBytes,
     make<CudaAsync>},
};

}  // namespace

std::span<const AllocatorEntry> allocator_table() { return kAllocators; }
std::span<const AllocatorEntry> cuda_allocator_table() { return kCudaAllocators; }

std::unique_ptr<Allocator> make_allocator(std::string_view name, Device& device,
                                          const AllocatorOptions& options) {
  std::string known;
  for (const auto& table : {allocator_table(), cuda_allocator_table()}) {
    for (const AllocatorEntry& entry : table) {
      if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) {
        return entry.make(device, options);
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
    }
  }
  throw std::invalid_argument(
      fmt::format("[allocator] unknown name, got {}, expected {}", name, known));
}

}  // namespace skyline
