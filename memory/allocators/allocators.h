#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "memory/allocator.h"
#include "memory/allocators/allocator_options.h"
#include "memory/device/device.h"

namespace skyline {

// A row of the table of allocators that only need a device. (`planned` is a Session, which the
// program composes.)
struct AllocatorEntry {
  std::string_view name;
  std::string_view alias;  // empty: none
  std::string_view description;
  std::unique_ptr<Allocator> (*make)(Device& device, const AllocatorOptions& options);
};

std::span<const AllocatorEntry> allocator_table();
// Allocators that only a CUDA device has; making one on another throws std::invalid_argument.
std::span<const AllocatorEntry> cuda_allocator_table();

// Makes an allocator by its name or alias in either table; the device outlives it. Throws
// std::invalid_argument for an unknown name or an option out of range.
std::unique_ptr<Allocator> make_allocator(std::string_view name, Device& device,
                                          const AllocatorOptions& options = {});

}  // namespace skyline
