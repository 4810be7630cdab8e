#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch_order.h"
#include "data/dataset.h"
#include "data/host.h"

namespace skyline {

struct Batch {
  std::vector<float> images;  // size × height × width × channels
  std::vector<std::int32_t> labels;
  std::size_t size = 0;
  BatchPosition position;
};

struct LoaderOptions {
  std::size_t batch_size = 1;
  bool shuffle = true;       // otherwise in the data set's order
  bool drop_last = true;     // leave out the samples that do not fill a batch
  std::size_t prefetch = 2;  // batches made ahead; 0: made on demand on the caller's thread
  // Images held at most, those of the consumer's batch included until it is given back; one batch
  // is always held. Fewer batches are made ahead of large ones.
  std::size_t most_bytes = std::size_t{16} << 20;
  std::size_t threads = 1;       // that read samples ahead
  BatchPosition start;           // the first batch to return
  std::size_t step_batches = 1;  // leave out the batches that do not fill a step of so many
  BatchShare share;  // the batches to return, if others read the rest; the rank has one at least
};

// Returns the batches of one epoch after another, without end. Its own threads make them ahead and
// share the samples of each batch. The batches are the same for any `prefetch` and any number of
// threads. Thread rule: one consumer. The data set must outlive the loader; destroying the loader
// stops its threads at any moment.
// The threads sleep while `prefetch` batches are ready, or as many as LoaderOptions permit. When a
// batch is taken, all of them read the samples of one batch and compete with the computation for
// cores. Computing threads wait for their slowest one, so a short burst on all cores costs less
// than a long one on a few.
class Loader {
 public:
  // Throws DataError when the batch size is 0 or larger than the data, or no step has its batches,
  // the start is past the end of its epoch, or the batches take more memory than the system has
  // left.
  Loader(const Dataset& dataset, LoaderOptions options, RandomBits random);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::size_t batches_per_epoch() const noexcept { return batches_per_epoch_; }

  // Replaces `batch` by the next one and reuses its buffers, so a loop over one Batch soon stops
  // allocating. If the data set threw for a sample, next() throws the exception of the batch's
  // first failed sample in place of that batch, and again at every later call.
  void next(Batch& batch);
  Batch next();
  // Takes the buffers of a batch that next() returned and whose samples have been used, so that the
  // threads fill them before the next call of next(). Size and position of the batch stay.
  void give_back(Batch& batch);

  // Bytes of all images that it holds.
  std::size_t held_bytes() const;

  // How long the last next() waited for its batch; 0 when the batch was ready.
  double last_wait_seconds() const noexcept { return last_wait_seconds_; }

 private:
  // A batch being made. Samples begin in order and end in any order.
  struct Pending {
    Batch batch;
    std::vector<std::size_t> indices;  // of its samples
    std::size_t begun = 0, ended = 0;
    std::size_t failed = 0;  // the first sample that failed, if `failure` is set
    std::exception_ptr failure;

    // True once no worker is reading for this batch and it is complete or has failed.
    bool settled() const { return begun == ended && (failure || ended == indices.size()); }
  };

  void open(Pending& pending);  // for position_, which then advances
  void read_sample(Pending& pending, std::size_t i) const;
  void work(const std::stop_token& stop);
  bool can_begin() const;
  Pending& pending_to_begin();
  void end_sample(Pending& pending, std::size_t i, std::exception_ptr failure);
  void make(Batch& batch);
  void take(Batch& batch);
  void keep_buffers(Batch& batch);

  const Dataset& dataset_;
  const LoaderOptions options_;
  const RandomBits random_;
  const std::size_t batches_per_epoch_;
  const std::size_t most_batches_;  // ahead and with the consumer
  double last_wait_seconds_ = 0;    // the consumer's

  // Guarded by mutex_, except when prefetch is 0: then only the consumer uses them.
  BatchPosition position_;          // of the batch to open next
  std::vector<std::size_t> order_;  // for epoch order_epoch_; empty before the first batch
  std::uint64_t order_epoch_ = 0;
  std::exception_ptr failure_;  // what next() has thrown

  mutable std::mutex mutex_;
  std::condition_variable_any room_, ready_;
  std::deque<Pending> pending_;        // guarded by mutex_; only the last has samples left to begin
  std::vector<Batch> spares_;          // guarded by mutex_
  bool lent_ = false;                  // guarded by mutex_; the consumer holds a batch
  bool stopped_ = false;               // guarded by mutex_; a sample has failed, so no more begin
  std::vector<std::jthread> workers_;  // last: they use everything above
};

}  // namespace skyline
