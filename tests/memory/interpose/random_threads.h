#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace skyline {

// A program of threads that does what allocators hate: it makes steps that change, frees blocks on
// other threads, grows and shrinks blocks across the threshold, keeps some for several steps. It
// fills each block and checks it, with the bytes before its end, when it is freed.
// `Heap` has allocate, allocate_zeroed, resize, deallocate, end_step.
template <typename Heap>
class RandomThreads {
 public:
  RandomThreads(Heap& heap, std::uint64_t seed, std::size_t least_bytes)
      : heap_(heap), seed_(seed), least_bytes_(least_bytes), random_(seed) {
    habit_.resize(20 + below(60));
    for (Request& request : habit_) request = {below(4 * least_bytes_), below(20)};
  }

  void run(int steps, unsigned other_threads) {
    std::vector<std::jthread> others;
    for (unsigned k = 0; k < other_threads; ++k) others.emplace_back([this, k] { disturb(k); });
    const bool calm = chance(30);
    for (int step = 0; step < steps; ++step) run_step(calm || step >= steps - 4);
    done_ = true;
    others.clear();
    for (Block& block : shared_) free(block);
    for (Block& block : kept_) free(block);
    if (spoilt_) throw std::logic_error("a live block was overwritten");
  }

 private:
  struct Request {
    std::size_t bytes, lives;
  };
  struct Block {
    unsigned char* address = nullptr;
    std::size_t bytes = 0;
    unsigned char fill = 0;
    std::size_t until = 0;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  Block make(std::size_t bytes, std::uint64_t value, bool zeroed = false) {
    auto* const address =
        static_cast<unsigned char*>(zeroed ? heap_.allocate_zeroed(bytes) : heap_.allocate(bytes));
    if (address == nullptr) throw std::bad_alloc();
    if (zeroed && std::any_of(address, address + bytes, [](auto byte) { return byte != 0; })) {
      spoilt_ = true;
    }
    const auto fill = static_cast<unsigned char>(value);
    std::memset(address, fill, bytes);
    return {address, bytes, fill};
  }
  void check(const Block& block) {
    const auto wrong = [&](auto byte) { return byte != block.fill; };
    if (std::any_of(block.address, block.address + block.bytes, wrong)) spoilt_ = true;
  }
  void free(const Block& block) {
    check(block);
    heap_.deallocate(block.address);
  }
  void resize(Block& block, std::size_t bytes) {
    auto* const moved = static_cast<unsigned char*>(heap_.resize(block.address, bytes));
    if (moved == nullptr) throw std::bad_alloc();
    block.address = moved;
    block.bytes = std::min(block.bytes, bytes);
    check(block);
    block.bytes = bytes;
    std::memset(moved, block.fill, bytes);
  }

  void run_step(bool calm) {
    std::vector<Block> live;
    for (std::size_t k = 0; k < habit_.size(); ++k) {
      std::erase_if(live, [&](const Block& block) {
        if (block.until > k) return false;
        free(block);
        return true;
      });
      Request request = habit_[k];
      if (!calm && chance(3)) continue;
      if (!calm && chance(5)) request.bytes = below(6 * least_bytes_);
      if (!calm && chance(5)) request.lives += below(30);
      Block block = make(std::max<std::size_t>(request.bytes, 1), random_(), k % 7 == 3);
      block.until = k + 1 + request.lives;
      if (k % 11 == 5) resize(block, 1 + (block.bytes * 3 + k * least_bytes_) % (5 * least_bytes_));
      if (!calm && chance(4)) {
        kept_.push_back(block);
      } else if (!calm && chance(6)) {
        const std::lock_guard lock(mutex_);
        shared_.push_back(block);
      } else {
        live.push_back(block);
      }
    }
    for (const Block& block : live) free(block);
    while (kept_.size() > 8) {
      free(kept_.front());
      kept_.erase(kept_.begin());
    }
    if (calm || !chance(10)) heap_.end_step(!calm && chance(10) ? 1 : 0);
  }

  // Another thread: frees what the first one leaves to it, and has blocks of its own.
  void disturb(unsigned thread) {
    std::mt19937_64 random(seed_ * 31 + thread);
    std::optional<Block> own;
    while (!done_) {
      std::vector<Block> taken;
      {
        const std::lock_guard lock(mutex_);
        taken.swap(shared_);
      }
      for (const Block& block : taken) free(block);
      if (own) free(*own);
      own = make(1 + random() % (2 * least_bytes_), random());
      std::this_thread::yield();
    }
    if (own) free(*own);
  }

  Heap& heap_;
  std::uint64_t seed_;
  std::size_t least_bytes_;
  std::mt19937_64 random_;
  std::vector<Request> habit_;
  std::vector<Block> kept_, shared_;
  std::mutex mutex_;  // of shared_
  std::atomic<bool> done_ = false, spoilt_ = false;
};

}  // namespace skyline
