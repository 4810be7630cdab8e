#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "data/random.h"

namespace skyline {

// The order in which epoch `epoch` visits `size` samples: a Fisher–Yates shuffle that depends on
// random's seed and the epoch alone.
std::vector<std::size_t> shuffled_order(std::size_t size, std::uint64_t epoch,
                                        const RandomBits& random);

// A batch of a run. Saved in checkpoints as it is.
struct BatchPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;  // within the epoch
  bool operator==(const BatchPosition&) const = default;
};

struct Batch {
  std::vector<float> images;  // size × height × width × channels
  std::vector<std::int32_t> labels;
  std::size_t size = 0;
  BatchPosition position;
};

struct LoaderOptions {
  std::size_t batch_size = 1;
  bool shuffle = true;       // else in the data set's order
  bool drop_last = true;     // leave out the samples that do not fill a batch; else a smaller one
  std::size_t prefetch = 2;  // batches made ahead; 0: on the caller's thread, when asked for
  BatchPosition start;       // the first batch to give
};

// Gives the batches of one epoch after another, without end, made ahead on a thread of its own.
// They are the same for every `prefetch`. Thread rule: one consumer. The data set must outlive the
// loader; destroying the loader at any moment stops its thread.
class Loader {
 public:
  // Throws DataError when the batch size is 0 or larger than the data, or the start is past the
  // epoch's end.
  Loader(const Dataset& dataset, LoaderOptions options, RandomBits random);
  ~Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::size_t batches_per_epoch() const noexcept { return batches_per_epoch_; }

  // Replaces `batch` by the next one; its old buffers are used again, so that a loop over one Batch
  // settles without allocating. What the data set threw for a batch is thrown in that batch's
  // place, and at every later call.
  void next(Batch& batch);
  Batch next();

 private:
  void make(Batch& batch);  // the one at position_, which then moves on
  void produce(const std::stop_token& stop);
  // False when the loader is being destroyed.
  bool wait_for_room(const std::stop_token& stop, Batch& spare);
  void take(Batch& batch);

  const Dataset& dataset_;
  const LoaderOptions options_;
  const RandomBits random_;
  const std::size_t batches_per_epoch_;

  // Touched by the producer alone (the consumer when prefetch is 0).
  BatchPosition position_;
  std::vector<std::size_t> order_;  // of epoch order_epoch_; empty before the first batch
  std::uint64_t order_epoch_ = 0;

  std::mutex mutex_;
  std::condition_variable_any room_, ready_;
  std::deque<Batch> queue_;     // guarded by mutex_
  std::vector<Batch> spares_;   // guarded by mutex_
  std::exception_ptr failure_;  // guarded by mutex_; set last by the producer
  std::jthread producer_;       // last: it uses all of the above
};

}  // namespace skyline
