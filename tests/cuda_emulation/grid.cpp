#include "tests/cuda_emulation/grid.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/fiber.h"

// Ends of the section that shared_memory.ld makes, in whole words.
extern "C" std::uint64_t shared_memory_begin[], shared_memory_end[];

namespace cuda_emulation {
namespace {

constexpr std::size_t kLanes = 32;

enum class State { kRunning, kAtBlockBarrier, kAtWarpBarrier, kDone };

struct Thread {
  State state = State::kDone;
  Fiber* fiber = nullptr;  // set while the thread waits
  unsigned mask = 0;       // of the warp barrier
  Place place{};           // of the barrier
};

// Values that the lanes of a warp exchange; two, because a lane may be one exchange ahead of
// others.
struct Exchange {
  std::array<std::array<std::uint64_t, kLanes>, 2> values{};
};

uint3 index_of(std::size_t i, dim3 size) {
  const auto linear = static_cast<unsigned>(i);
  return {linear % size.x, linear / size.x % size.y, linear / size.x / size.y};
}

// Runs the threads of one block after another. Threads start in sequence on one fiber. A thread
// that waits keeps its fiber, and the remaining threads continue on another. So a kernel without
// barriers costs little more than a loop.
class Block {
 public:
  Block(dim3 size, std::vector<std::size_t> order, const std::function<void()>& thread)
      : order_(std::move(order)),
        body_(thread),
        threads_(order_.size()),
        exchanges_((order_.size() + kLanes - 1) / kLanes),
        turns_(order_.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) indices_.push_back(index_of(i, size));
  }

  void run();
  void start_threads(Fiber& fiber);
  void wait(State state, unsigned mask, Place place);
  std::uint64_t exchange(unsigned mask, std::uint64_t value, int source, Place place);
  std::size_t current() const { return current_; }
  bool has_started_all() const { return started_ == order_.size(); }

 private:
  bool release_waiting();
  void resume_released();
  bool all_lanes_wait(std::size_t warp, const Thread& first) const;
  bool release_warps();
  bool release_block();
  [[noreturn]] void refuse(const std::string& what) const;

  std::vector<std::size_t> order_;
  std::vector<uint3> indices_;
  const std::function<void()>& body_;
  std::vector<Thread> threads_;
  std::vector<Exchange> exchanges_;  // one per warp
  std::vector<unsigned> turns_;      // number of exchanges that each thread has made
  std::size_t started_ = 0;
  std::size_t current_ = 0;
  Fiber* fiber_ = nullptr;  // the running fiber
  std::string fault_;       // found on a fiber
};

Block* running = nullptr;

// Poisons the shared memory of all kernels, with large negative numbers in one order of threads and
// large positive ones in the others: the larger of two values, or the smaller, is never right by
// chance. The address sanitizer guards the gaps between arrays, which this overwrites, too.
__attribute__((no_sanitize("address"))) void poison_shared_memory() {
  const bool negative = options().threads == ThreadOrder::kForward;
  const std::uint64_t poison = negative ? 0xEEEEEEEEEEEEEEEE : 0x7F7F7F7F7F7F7F7F;
  const auto begin = reinterpret_cast<std::uintptr_t>(shared_memory_begin);
  const std::size_t words = (reinterpret_cast<std::uintptr_t>(shared_memory_end) - begin) / 8;
  for (std::size_t i = 0; i < words; ++i) shared_memory_begin[i] = poison;
}

// Kernels that use shared memory wait at barriers, others do not pay for the poison.
bool shared_is_used = true;

// Fibers of all blocks; those in `idle` wait for a block to start threads.
struct Fibers {
  std::vector<std::unique_ptr<Fiber>> all;
  std::vector<Fiber*> idle;

  Fiber& take() {
    if (idle.empty()) add();
    Fiber* fiber = idle.back();
    idle.pop_back();
    return *fiber;
  }
  void add() {
    // The body learns its own fiber through `self`, which is set once the fiber exists.
    auto self = std::make_shared<Fiber*>(nullptr);
    all.push_back(std::make_unique<Fiber>([this, self] {
      for (;;) {
        running->start_threads(**self);
        idle.push_back(*self);
        (*self)->yield();
      }
    }));
    *self = all.back().get();
    idle.push_back(*self);
  }
  void clear() {
    idle.clear();
    all.clear();
  }
};

Fibers& fibers() {
  static Fibers& instance = *new Fibers;
  return instance;
}

void Block::start_threads(Fiber& fiber) {
  while (started_ < order_.size()) {
    const std::size_t thread = order_[started_++];
    current_ = thread;
    fiber_ = &fiber;
    threadIdx = indices_[thread];
    body_();
    threads_[thread].state = State::kDone;
  }
}

void Block::run() {
  running = this;
  if (std::exchange(shared_is_used, false)) poison_shared_memory();
  started_ = 0;
  std::ranges::fill(turns_, 0u);
  while (!has_started_all()) fibers().take().resume();
  while (release_waiting()) resume_released();
  running = nullptr;
}

void Block::resume_released() {
  for (const std::size_t thread : order_) {
    if (threads_[thread].state != State::kRunning) continue;
    current_ = thread;
    fiber_ = threads_[thread].fiber;
    threadIdx = indices_[thread];
    fiber_->resume();
  }
}

// Runs on the thread's fiber, which must not throw.
void Block::wait(State state, unsigned mask, Place place) {
  const std::size_t thread = current_;
  Fiber& fiber = *fiber_;
  if (state == State::kAtWarpBarrier && (mask >> thread % kLanes & 1) == 0) {
    fault_ = "a mask leaves out the lane that gives it";
    return;
  }
  const std::size_t lanes = std::min(kLanes, threads_.size() - thread / kLanes * kLanes);
  if (state == State::kAtWarpBarrier && lanes < kLanes && mask >> lanes != 0) {
    fault_ = "a mask names lanes that no thread is";
    return;
  }
  threads_[thread] = {state, &fiber, mask, place};
  fiber.yield();
}

std::uint64_t Block::exchange(unsigned mask, std::uint64_t value, int source, Place place) {
  const std::size_t thread = current_;
  const std::size_t first = thread / kLanes * kLanes;
  if (first + static_cast<std::size_t>(source) >= threads_.size()) {
    fault_ = "a shuffle reads a lane that no thread is";
  }
  auto& values = exchanges_[thread / kLanes].values[turns_[thread]++ % 2];
  values[thread - first] = value;
  wait(State::kAtWarpBarrier, mask, place);
  return values[static_cast<std::size_t>(source)];
}

// Returns false once all threads are done.
bool Block::release_waiting() {
  if (!fault_.empty()) refuse(fault_);
  const bool warps = release_warps();
  if (warps || release_block()) return true;
  for (const Thread& thread : threads_) {
    if (thread.state != State::kDone) refuse("lanes of a mask have left or wait elsewhere");
  }
  return false;
}

bool Block::all_lanes_wait(std::size_t warp, const Thread& first) const {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t i = warp * kLanes + lane;
    if ((first.mask >> lane & 1) == 0 || i >= threads_.size()) continue;
    const Thread& other = threads_[i];
    if (other.state != State::kAtWarpBarrier || other.mask != first.mask ||
        other.place != first.place) {
      return false;
    }
  }
  return true;
}

bool Block::release_warps() {
  bool released = false;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state != State::kAtWarpBarrier) continue;
    const Thread first = threads_[i];
    if (!all_lanes_wait(i / kLanes, first)) continue;
    released = true;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t other = i / kLanes * kLanes + lane;
      if ((first.mask >> lane & 1) != 0 && other < threads_.size()) {
        threads_[other].state = State::kRunning;
      }
    }
  }
  return released;
}

bool Block::release_block() {
  const Thread* first = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state == State::kAtWarpBarrier) return false;  // refused by the caller
    if (thread.state == State::kAtBlockBarrier && first == nullptr) first = &thread;
  }
  if (first == nullptr) return false;
  for (const Thread& thread : threads_) {
    if (thread.state == State::kDone) refuse("threads have left while others wait at a barrier");
    if (thread.place != first->place) refuse("threads wait at different barriers");
  }
  for (Thread& thread : threads_) thread.state = State::kRunning;
  return true;
}

void Block::refuse(const std::string& what) const {
  std::string text = "[emulated kernel] " + what;
  for (const Thread& thread : threads_) {
    if (thread.state == State::kDone || thread.place.file == nullptr) continue;
    text += ", " + std::string(thread.place.file) + ":" + std::to_string(thread.place.line);
    break;
  }
  throw std::logic_error(text);
}

std::vector<std::size_t> order_of(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options().threads == ThreadOrder::kBackward) std::reverse(order.begin(), order.end());
  if (options().threads == ThreadOrder::kShuffled) std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  std::mt19937_64 random(options().seed);
  gridDim = grid;
  blockDim = block;
  Block all(block, order_of(std::size_t{block.x} * block.y * block.z, random), thread);
  try {
    for (const std::size_t i : order_of(std::size_t{grid.x} * grid.y * grid.z, random)) {
      blockIdx = index_of(i, grid);
      all.run();
    }
  } catch (const std::logic_error&) {
    running = nullptr;
    fibers().clear();  // some are still inside a thread
    throw;
  }
}

void block_barrier(Place place) {
  shared_is_used = true;
  running->wait(State::kAtBlockBarrier, 0, place);
}

void warp_barrier(unsigned mask, Place place) { running->wait(State::kAtWarpBarrier, mask, place); }

std::uint64_t exchange(unsigned mask, std::uint64_t value, int source, Place place) {
  return running->exchange(mask, value, source, place);
}

int lane() { return static_cast<int>(running->current() % kLanes); }

}  // namespace cuda_emulation
