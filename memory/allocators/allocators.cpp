#include "memory/allocators/allocators.h"

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "memory/allocators/best_fit_pool.h"
#include "memory/allocators/network_wise.h"

namespace skyline {
namespace {

template <typename T>
std::unique_ptr<Allocator> make(Device& device, const AllocatorOptions&) {
  return std::make_unique<T>(device);
}

constexpr AllocatorEntry kAllocators[] = {
    {"best-fit-pool", "pool", "best-fit coalescing pool (CuPy 2.0, Chainer 3)", make<BestFitPool>},
    {"network-wise", "", "one slot a request, no reuse inside a step", make<NetworkWise>},
};

}  // namespace

std::span<const AllocatorEntry> allocator_table() { return kAllocators; }

std::unique_ptr<Allocator> make_allocator(std::string_view name, Device& device,
                                          const AllocatorOptions& options) {
  std::string known;
  for (const AllocatorEntry& entry : kAllocators) {
    if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) {
      return entry.make(device, options);
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
  }
  throw std::invalid_argument(
      fmt::format("[allocator] unknown name, got {}, expected {}", name, known));
}

}  // namespace skyline
