#pragma once

#include <memory>

#include "memory/allocator.h"
#include "memory/device/device.h"

namespace skyline {

// Makes an allocator that takes its memory from `device` (see allocator.md).
std::unique_ptr<Allocator> make_exercise_allocator(Device& device);

}  // namespace skyline
