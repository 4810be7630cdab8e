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
// random's seed, the stream and the epoch alone.
std::vector<std::size_t> shuffled_order(std::size_t size, std::uint64_t epoch,
                                        const RandomBits& random,
                                        DataStream stream = DataStream::kShuffle);

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
  std::size_t threads = 1;   // that read samples ahead
  BatchPosition start;       // the first batch to give
};

// Gives the batches of one epoch after another, without end, made ahead on threads of its own that
// share each batch's samples. They are the same for every `prefetch` and number of threads. Thread
// rule: one consumer. The data set must outlive the loader; destroying the loader at any moment
// stops its threads.
// The threads sleep while `prefetch` batches wait. When one is taken they all read for the time
// that a batch's samples take, and share the cores with whoever computes; since computing threads
// wait for the slowest of them, a short burst on all cores costs less than a long one on a few.
class Loader {
 public:
  // Throws DataError when the batch size is 0 or larger than the data, or the start is past the
  // epoch's end.
  Loader(const Dataset& dataset, LoaderOptions options, RandomBits random);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::size_t batches_per_epoch() const noexcept { return batches_per_epoch_; }

  // Replaces `batch` by the next one; its old buffers are used again, so that a loop over one Batch
  // settles without allocating. What the data set threw for a batch (for its first sample that
  // failed) is thrown in that batch's place, and at every later call.
  void next(Batch& batch);
  Batch next();

  // How long the last next() waited for its batch; 0 when the batch was there.
  double last_wait_seconds() const noexcept { return last_wait_seconds_; }

 private:
  // A batch on its way. Samples are begun in order and end in any.
  struct Pending {
    Batch batch;
    std::vector<std::size_t> indices;  // of its samples
    std::size_t begun = 0, ended = 0;
    std::size_t failed = 0;  // the first sample that failed, when one did
    std::exception_ptr failure;

    // Nothing is running for it any more, and it is whole or will never be.
    bool settled() const { return begun == ended && (failure || ended == indices.size()); }
  };

  void open(Pending& pending);  // for position_, which then moves on
  void read_sample(Pending& pending, std::size_t i) const;
  void work(const std::stop_token& stop);
  bool can_begin() const;
  Pending& pending_to_begin();
  void end_sample(Pending& pending, std::size_t i, std::exception_ptr failure);
  void make(Batch& batch);
  void take(Batch& batch);

  const Dataset& dataset_;
  const LoaderOptions options_;
  const RandomBits random_;
  const std::size_t batches_per_epoch_;
  double last_wait_seconds_ = 0;  // the consumer's

  // Guarded by mutex_; the consumer's alone when prefetch is 0.
  BatchPosition position_;          // of the batch that is opened next
  std::vector<std::size_t> order_;  // of epoch order_epoch_; empty before the first batch
  std::uint64_t order_epoch_ = 0;
  std::exception_ptr failure_;  // what next() has thrown

  std::mutex mutex_;
  std::condition_variable_any room_, ready_;
  std::deque<Pending> pending_;        // guarded by mutex_; only the last has samples to begin
  std::vector<Batch> spares_;          // guarded by mutex_
  bool stopped_ = false;               // guarded by mutex_; a sample has failed: none is begun
  std::vector<std::jthread> workers_;  // last: they use all of the above
};

}  // namespace skyline
