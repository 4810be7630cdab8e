#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace skyline {

// A counter-based generator with its seed inside: four random words for each (stream, counter), the
// same on every call. It is injected, so this room depends on no generator. Thread rule: may be
// called from several threads at once.
using RandomBits =
    std::function<std::array<std::uint32_t, 4>(std::uint64_t stream, std::uint64_t counter)>;

// The streams of this room. The top bit keeps them apart from streams that a run counts from 0.
enum class DataStream : std::uint64_t {
  kShuffle = 0x8000'0000'0000'0000,
  kShapesTrain = 0x8000'0000'0000'0001,
  kShapesTest = 0x8000'0000'0000'0002,
  kCrop = 0x8000'0000'0000'0003,
  kMeanOrder = 0x8000'0000'0000'0004,
  kBatchOrder = 0x8000'0000'0000'0005,
  kNumbersTrain = 0x8000'0000'0000'0006,
  kNumbersTest = 0x8000'0000'0000'0007,
};

}  // namespace skyline
