#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/host.h"

namespace skyline {

// Returns a number in [0, bound) from 64 random bits: the upper half of their product (Lemire,
// "Fast random integer generation in an interval", 2019). Its bias is below bound / 2^64.
std::size_t random_below(std::size_t bound, std::uint32_t high, std::uint32_t low);

// A batch of a run, as checkpoints store it.
struct BatchPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;  // within the epoch
  bool operator==(const BatchPosition&) const = default;
};

// The position itself, or the start of the next epoch when it is at the end of an epoch.
BatchPosition within_epoch(BatchPosition position, std::size_t batches_per_epoch);

// The order in which epoch `epoch` visits `size` samples: a Fisher–Yates shuffle that depends only
// on random's seed, the stream and the epoch.
std::vector<std::size_t> shuffled_order(std::size_t size, std::uint64_t epoch,
                                        const RandomBits& random,
                                        DataStream stream = DataStream::kShuffle);

// 0, 1, …, size − 1.
std::vector<std::size_t> ascending_order(std::size_t size);

// The batches of one of several ranks that read the same data together: of each `ranks` batches
// the one at place `rank`. Positions are those of the first of them.
struct BatchShare {
  std::size_t rank = 0;
  std::size_t ranks = 1;

  // Returns the position of the next of its batches.
  BatchPosition after(BatchPosition position, std::size_t batches_per_epoch) const {
    return within_epoch({position.epoch, position.batch + ranks}, batches_per_epoch);
  }
};

// How samples are cut into batches.
struct BatchCut {
  std::size_t samples = 0;
  std::size_t batch_size = 0;
  bool drop_last = false;        // leave out the samples that do not fill a batch
  BatchPosition start;           // the first batch that is asked for
  std::size_t step_batches = 1;  // leave out the batches that do not fill a step of so many
};

// Throws DataError, naming `data` and calling its samples `noun`, when the batch size is 0 or
// larger than the data, when not even one step has its batches, or when the start is past the end
// of its epoch.
std::size_t batches_per_epoch(const std::string& data, const BatchCut& cut, const char* noun);

}  // namespace skyline
