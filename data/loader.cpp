#include "data/loader.h"

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
                                        const RandomBits& random) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = size; i > 1; --i) {
    const std::size_t draw = size - i;  // two draws a counter
    if (draw % 2 == 0) {
      words = random(static_cast<std::uint64_t>(DataStream::kShuffle), epoch << 32 | draw / 2);
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
  producer_ = std::jthread([this](const std::stop_token& stop) { produce(stop); });
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

void Loader::take(Batch& batch) {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [this] { return !queue_.empty() || failure_; });
  if (queue_.empty()) std::rethrow_exception(failure_);
  std::swap(batch, queue_.front());
  spares_.push_back(std::move(queue_.front()));
  queue_.pop_front();
  room_.notify_one();
}

void Loader::produce(const std::stop_token& stop) {
  Batch batch;
  while (wait_for_room(stop, batch)) {
    std::exception_ptr failure;
    try {
      make(batch);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (failure) {
      failure_ = failure;
    } else {
      queue_.push_back(std::move(batch));
    }
    ready_.notify_one();
    if (failure) return;
  }
}

bool Loader::wait_for_room(const std::stop_token& stop, Batch& spare) {
  std::unique_lock lock(mutex_);
  if (!room_.wait(lock, stop, [this] { return queue_.size() < options_.prefetch; })) return false;
  if (!spares_.empty()) {
    spare = std::move(spares_.back());
    spares_.pop_back();
  }
  return !stop.stop_requested();
}

void Loader::make(Batch& batch) {
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
  const std::size_t elements = dataset_.image_shape().elements();
  batch.position = position_;
  batch.size = std::min(options_.batch_size, dataset_.size() - first);
  batch.images.resize(batch.size * elements);
  batch.labels.resize(batch.size);
  for (std::size_t i = 0; i < batch.size; ++i) {
    dataset_.read(order_[first + i], batch.images.data() + i * elements, &batch.labels[i]);
  }
  if (++position_.batch == batches_per_epoch_) position_ = {position_.epoch + 1, 0};
}

}  // namespace skyline
