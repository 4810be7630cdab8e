#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "data/errors.h"

namespace skyline {
namespace {

// A number in [0, bound) from 64 random bits: their product's upper half (Lemire, "Fast random
// integer generation in an interval", 2019). Its bias is below bound / 2^64.
std::size_t below(std::size_t bound, std::uint32_t high, std::uint32_t low) {
  const std::uint64_t word = std::uint64_t{high} << 32 | low;
  return static_cast<std::size_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
}

double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

std::size_t checked_batches_per_epoch(const Dataset& dataset, const LoaderOptions& options) {
  const std::size_t size = dataset.size(), batch = options.batch_size;
  if (batch == 0 || batch > size) {
    throw DataError(dataset.name(), "batch size", std::to_string(batch),
                    "1 to " + std::to_string(size) + ", the number of samples");
  }
  const std::size_t batches = options.drop_last ? size / batch : (size + batch - 1) / batch;
  if (options.start.batch > batches) {
    throw DataError(dataset.name(), "first batch", std::to_string(options.start.batch),
                    "at most " + std::to_string(batches) + ", the batches of an epoch");
  }
  return batches;
}

}  // namespace

std::vector<std::size_t> shuffled_order(std::size_t size, std::uint64_t epoch,
                                        const RandomBits& random, DataStream stream) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = size; i > 1; --i) {
    const std::size_t draw = size - i;  // two draws a counter
    if (draw % 2 == 0) {
      words = random(static_cast<std::uint64_t>(stream), epoch << 32 | draw / 2);
    }
    const std::size_t word = 2 * (draw % 2);
    std::swap(order[i - 1], order[below(i, words[word], words[word + 1])]);
  }
  return order;
}

Loader::Loader(const Dataset& dataset, LoaderOptions options, RandomBits random)
    : dataset_(dataset),
      options_(options),
      random_(std::move(random)),
      batches_per_epoch_(checked_batches_per_epoch(dataset, options)),
      position_(options.start) {
  if (position_.batch == batches_per_epoch_) position_ = {position_.epoch + 1, 0};
  if (options_.prefetch == 0) return;
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.threads, 1); ++i) {
    workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

Loader::~Loader() {
  for (std::jthread& worker : workers_) worker.request_stop();  // all, before one is waited for
}

void Loader::next(Batch& batch) {
  if (options_.prefetch > 0) return take(batch);
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
  const auto settled = [this] { return !pending_.empty() && pending_.front().settled(); };
  const bool waits = !settled();
  ready_.wait(lock, settled);
  last_wait_seconds_ = waits ? seconds_since(started) : 0.0;
  if (pending_.front().failure) {
    failure_ = pending_.front().failure;
    std::rethrow_exception(failure_);
  }
  std::swap(batch, pending_.front().batch);
  spares_.push_back(std::move(pending_.front().batch));
  pending_.pop_front();
  room_.notify_all();
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
  if (pending_.size() < options_.prefetch) return true;
  return pending_.back().begun < pending_.back().indices.size();
}

// The last batch, a new one when all samples of the last are begun.
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
  } catch (...) {  // no memory
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
  if (order_.empty() || order_epoch_ != position_.epoch) {
    order_epoch_ = position_.epoch;
    if (options_.shuffle) {
      order_ = shuffled_order(dataset_.size(), order_epoch_, random_);
    } else if (order_.empty()) {
      order_.resize(dataset_.size());
      std::iota(order_.begin(), order_.end(), std::size_t{0});
    }
  }
  const std::size_t first = position_.batch * options_.batch_size;
  Batch& batch = pending.batch;
  batch.position = position_;
  batch.size = std::min(options_.batch_size, dataset_.size() - first);
  batch.images.resize(batch.size * dataset_.image_shape().elements());
  batch.labels.resize(batch.size);
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
  pending.indices.assign(begin, begin + static_cast<std::ptrdiff_t>(batch.size));
  if (++position_.batch == batches_per_epoch_) position_ = {position_.epoch + 1, 0};
}

// Writes to places of its own: several threads may read samples of one batch.
void Loader::read_sample(Pending& pending, std::size_t i) const {
  Batch& batch = pending.batch;
  const std::size_t elements = batch.images.size() / batch.size;
  dataset_.read({.index = pending.indices[i], .epoch = batch.position.epoch},
                batch.images.data() + i * elements, &batch.labels[i]);
}

}  // namespace skyline
