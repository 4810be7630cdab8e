#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "memory/allocator.h"
#include "memory/device/device.h"
#include "train/labs/lab.h"

namespace skyline {

// Makes an allocator that takes its memory from the device, by allocate() and deallocate().
using AllocatorMaker = std::function<std::unique_ptr<Allocator>(Device& device)>;

// Scores an allocator on 20 hidden runs of ten steps whose sizes differ: it may never hand out
// live bytes or bytes that it does not have, and returns all at its end. Then the device's calls
// and the reserved bytes are compared with those of the best-fit pool.
LabScore score_allocator(const AllocatorMaker& make, std::uint64_t seed);

}  // namespace skyline
