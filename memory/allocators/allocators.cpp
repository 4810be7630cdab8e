#include "memory/allocators/allocators.h"

#include <fmt/core.h>

#include <charconv>
#include <stdexcept>
#include <string>

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

[[noreturn]] void fail_divisions(std::string_view text) {
  throw std::invalid_argument(
      fmt::format("{} is out of range: it must be a power of two from 1 to 1048576, or a list of "
                  "them by powers "
                  "of two in MiB, such as [256:1,512:2,>:8]",
                  text));
}

// A power of two up to 2^20.
std::uint64_t power_of_two(std::string_view digits, std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  const bool known = error == std::errc() && stopped == end && value <= std::uint64_t{1} << 20;
  if (!known || !std::has_single_bit(value)) fail_divisions(text);
  return value;
}

}  // namespace

// As PyTorch reads it: the first entry also counts for smaller sizes, ">" for all larger ones, and
// a size between two entries that has none is not rounded.
RoundupDivisions RoundupDivisions::read(std::string_view text) {
  if (!text.starts_with('[')) return power_of_two(text, text);
  if (!text.ends_with(']')) fail_divisions(text);
  RoundupDivisions divisions;
  std::size_t next = 0;  // the interval after the last entry's
  for (std::string_view rest = text.substr(1); !rest.empty();) {
    const std::size_t end = rest.find_first_of(",]");
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) fail_divisions(text);
    const std::string_view size = entry.substr(0, colon), steps = entry.substr(colon + 1);
    const std::uint64_t value = steps == "0" ? 1 : power_of_two(steps, text);
    const auto from = divisions.by_size.begin();
    if (size == ">") {
      std::fill(from + static_cast<std::ptrdiff_t>(next), divisions.by_size.end(), value);
      continue;
    }
    const auto interval = std::min<std::size_t>(
        static_cast<std::size_t>(std::countr_zero(power_of_two(size, text))), 15);
    if (next == 0) std::fill_n(from, interval, value);
    divisions.by_size[interval] = value;
    next = interval + 1;
  }
  return divisions;
}

std::string RoundupDivisions::text() const {
  std::size_t last = by_size.size() - 1, first = 0;
  while (last > 0 && by_size[last - 1] == by_size.back()) --last;
  if (last == 0) return std::to_string(by_size.back());
  while (by_size[first + 1] == by_size[first]) ++first;
  std::string list = "[";
  for (; first < last; ++first) list += fmt::format("{}:{},", 1 << first, by_size[first]);
  return fmt::format("{}>:{}]", list, by_size.back());
}

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
