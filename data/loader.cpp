#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace skyline {
namespace {

double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

// Returns how many batches of the data set fit into the options' bytes; at least one.
std::size_t most_batches(const Dataset& dataset, const LoaderOptions& options) {
  const std::size_t batch_bytes =
      options.batch_size * dataset.image_shape().elements() * sizeof(float);
  const std::size_t fitting = options.most_bytes / std::max<std::size_t>(batch_bytes, 1);
  return std::clamp<std::size_t>(fitting, 1, options.prefetch + 1);
}

// The order of an epoch, the batches made ahead and the one in use.
void require_memory(const Dataset& dataset, const LoaderOptions& options, std::size_t batches) {
  const std::size_t size = dataset.size();
  require_host_memory(dataset.name(), "the order of " + std::to_string(size) + " images",
                      size * sizeof(std::size_t));
  const std::string count = batches == 1 ? "a batch" : std::to_string(batches) + " batches";
  require_host_memory(
      dataset.name(), "reading " + count + " of " + std::to_string(options.batch_size) + " images",
      batches * options.batch_size * dataset.image_shape().elements() * sizeof(float));
}

}  // namespace

Loader::Loader(const Dataset& dataset, LoaderOptions options, RandomBits random)
    : dataset_(dataset),
      options_(options),
      random_(std::move(random)),
      batches_per_epoch_(
          skyline::batches_per_epoch(dataset.name(),
                                     {dataset.size(), options.batch_size, options.drop_last,
                                      options.start, options.step_batches},
                                     "samples")),
      most_batches_(most_batches(dataset, options)),
      position_(within_epoch(options.start, batches_per_epoch_)) {
  require_memory(dataset_, options_, most_batches_);
  if (options_.prefetch == 0) return;
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.threads, 1); ++i) {
    try {
      workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error&) {
      break;  // no room for another stack: the threads there are do it, or the consumer's own
    }
  }
}

Loader::~Loader() {
  // Stops all of them before the destructor waits for the first.
  for (std::jthread& worker : workers_) worker.request_stop();
}

void Loader::next(Batch& batch) {
  if (!workers_.empty()) return take(batch);
  if (failure_) std::rethrow_exception(failure_);
  try {
    make(batch);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

Batch Loader::next() {
  Batch batch;
  next(batch);
  return batch;
}

void Loader::make(Batch& batch) {
  const auto started = std::chrono::steady_clock::now();
  Pending pending{.batch = std::move(batch)};
  open(pending);
  for (std::size_t i = 0; i < pending.indices.size(); ++i) read_sample(pending, i);
  batch = std::move(pending.batch);
  last_wait_seconds_ = seconds_since(started);
}

void Loader::take(Batch& batch) {
  const auto started = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  keep_buffers(batch);
  const auto settled = [this] { return !pending_.empty() && pending_.front().settled(); };
  const bool waits = !settled();
  ready_.wait(lock, settled);
  last_wait_seconds_ = waits ? seconds_since(started) : 0.0;
  if (pending_.front().failure) {
    failure_ = pending_.front().failure;
    std::rethrow_exception(failure_);
  }
  batch = std::move(pending_.front().batch);
  pending_.pop_front();
  lent_ = true;
  room_.notify_all();
}

// A batch without buffers is new, or was given back before.
void Loader::keep_buffers(Batch& batch) {
  lent_ = false;
  if (!batch.images.empty() && pending_.size() + spares_.size() < most_batches_) {
    Batch& spare = spares_.emplace_back();
    spare.images.swap(batch.images);
    spare.labels.swap(batch.labels);
  }
  batch.images = {};
  batch.labels = {};
  room_.notify_all();
}

void Loader::give_back(Batch& batch) {
  if (workers_.empty()) return;  // next() reuses the batch itself
  const std::lock_guard lock(mutex_);
  keep_buffers(batch);
}

std::size_t Loader::held_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t elements = 0;
  for (const Pending& pending : pending_) elements += pending.batch.images.capacity();
  for (const Batch& spare : spares_) elements += spare.images.capacity();
  return elements * sizeof(float);
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (room_.wait(lock, stop, [this] { return can_begin(); }) && !stop.stop_requested()) {
    Pending& pending = pending_to_begin();
    if (pending.failure) continue;
    const std::size_t i = pending.begun++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      read_sample(pending, i);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    end_sample(pending, i, failure);
  }
}

bool Loader::can_begin() const {
  if (stopped_) return false;
  const std::size_t ahead = std::min(options_.prefetch, most_batches_ - (lent_ ? 1 : 0));
  if (pending_.size() < ahead) return true;
  return !pending_.empty() && pending_.back().begun < pending_.back().indices.size();
}

// Returns the last batch, or opens a new one when all samples of the last have begun.
Loader::Pending& Loader::pending_to_begin() {
  if (!pending_.empty() && pending_.back().begun < pending_.back().indices.size()) {
    return pending_.back();
  }
  Pending& pending = pending_.emplace_back();
  if (!spares_.empty()) {
    pending.batch = std::move(spares_.back());
    spares_.pop_back();
  }
  try {
    open(pending);
  } catch (...) {  // out of memory
    pending.failure = std::current_exception();
    stopped_ = true;
    ready_.notify_one();
  }
  return pending;
}

void Loader::end_sample(Pending& pending, std::size_t i, std::exception_ptr failure) {
  ++pending.ended;
  if (failure && (!pending.failure || i < pending.failed)) {
    pending.failure = std::move(failure);
    pending.failed = i;
  }
  stopped_ = stopped_ || pending.failure;
  if (pending.settled()) ready_.notify_one();
}

void Loader::open(Pending& pending) {
  // The last batches of an epoch may be fewer than the ranks.
  if (position_.batch + options_.share.rank >= batches_per_epoch_) {
    position_ = {position_.epoch + 1, 0};
  }
  if (order_.empty() || order_epoch_ != position_.epoch) {
    order_epoch_ = position_.epoch;
    if (options_.shuffle) {
      order_ = shuffled_order(dataset_.size(), order_epoch_, random_);
    } else if (order_.empty()) {
      order_ = ascending_order(dataset_.size());
    }
  }
  const std::size_t first = (position_.batch + options_.share.rank) * options_.batch_size;
  Batch& batch = pending.batch;
  batch.position = position_;
  batch.size = std::min(options_.batch_size, dataset_.size() - first);
  batch.images.resize(batch.size * dataset_.image_shape().elements());
  batch.labels.resize(batch.size);
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
  pending.indices.assign(begin, begin + static_cast<std::ptrdiff_t>(batch.size));
  position_ = options_.share.after(position_, batches_per_epoch_);
}

// Several threads read samples of one batch; each sample has its own place in it.
void Loader::read_sample(Pending& pending, std::size_t i) const {
  Batch& batch = pending.batch;
  const std::size_t elements = batch.images.size() / batch.size;
  dataset_.read({.index = pending.indices[i], .epoch = batch.position.epoch},
                batch.images.data() + i * elements, &batch.labels[i]);
}

}  // namespace skyline
