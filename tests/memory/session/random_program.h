#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/allocator.h"

namespace skyline {

// How a random program deviates from its plan: probabilities in per cent.
struct Mischief {
  unsigned more = 0;         // an extra request, at any place
  unsigned fewer = 0;        // a request left out
  unsigned larger = 0;       // more bytes
  unsigned smaller = 0;      // fewer bytes
  unsigned swapped = 0;      // two neighbouring requests exchanged
  unsigned longer = 0;       // freed later in the step
  unsigned outlives = 0;     // freed up to three steps later
  unsigned interrupted = 0;  // an interrupted request before this one
  unsigned resident = 0;     // a block made, interrupted or not, or freed between steps
  unsigned cut = 0;          // the step is left at a random request (per step)
  unsigned refused = 0;      // the device refuses from a random call on (per step)
};

// A program of steps. Each shape has a habit, the requests of an undisturbed step; mischief changes
// them. On a device with memory, blocks are filled and verified when freed.
class RandomProgram {
 public:
  RandomProgram(Allocator& allocator, std::uint64_t seed, bool has_memory, std::size_t shapes)
      : allocator_(allocator), random_(seed), has_memory_(has_memory) {
    for (std::size_t shape = 0; shape < shapes; ++shape) habits_.push_back(make_habit());
  }

  // False when memory ran out or the step was cut; then the blocks of the step are freed.
  bool run_step(ShapeKey key, const Mischief& mischief) {
    allocator_.begin_step(key);
    ++step_;
    try {
      run_requests(key, mischief);
    } catch (const OutOfMemory&) {
      return leave();
    } catch (const Cut&) {
      return leave();
    }
    allocator_.end_step();
    free_due(kEndOfStep);
    return true;
  }

  // Between steps.
  void toggle_resident(const Mischief& mischief) {
    if (!chance(mischief.resident)) return;
    if (!residents_.empty() && chance(50)) return free_held(residents_, below(residents_.size()));
    std::optional<Interruption> interruption;
    if (chance(mischief.interrupted)) interruption.emplace(allocator_);
    try {
      residents_.push_back(make(below(kMostBytes), 0));
    } catch (const OutOfMemory&) {
    }
  }

  void free_all() {
    while (!live_.empty()) free_held(live_, live_.size() - 1);
    while (!residents_.empty()) free_held(residents_, residents_.size() - 1);
  }

  std::uint64_t random_key() { return below(habits_.size()); }
  std::uint64_t random() { return random_(); }
  std::size_t below(std::size_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

 private:
  static constexpr std::size_t kMostBytes = 40000;
  static constexpr std::size_t kEndOfStep = ~std::size_t{0} - 8;
  static constexpr std::array<std::string_view, 4> kLayers = {"a", "b", "c", "d"};
  struct Cut {};
  struct Request {
    std::size_t bytes = 0;
    std::size_t layer = 0;
    std::size_t freed_before = 0;  // this request of the habit, or kEndOfStep
  };
  struct Held {
    Block block;
    std::uint8_t fill = 0;
    std::size_t freed_before = 0;
    std::uint64_t freed_in_step = 0;
  };

  std::vector<Request> make_habit() {
    std::vector<Request> habit(3 + below(22));
    for (std::size_t i = 0; i < habit.size(); ++i) {
      habit[i].bytes = below(10) == 0 ? 0 : below(kMostBytes);
      habit[i].layer = below(kLayers.size());
      const std::size_t until = i + 1 + below(1 + below(8));
      habit[i].freed_before = until < habit.size() && !chance(10) ? until : kEndOfStep;
    }
    return habit;
  }

  void run_requests(ShapeKey key, const Mischief& mischief) {
    std::vector<Request> requests = habits_[key.shape % habits_.size()];
    const std::size_t cut_at = chance(mischief.cut) ? below(requests.size()) : kEndOfStep;
    for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
      if (chance(mischief.swapped)) std::swap(requests[i].bytes, requests[i + 1].bytes);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      free_due(i);
      if (i == cut_at) throw Cut{};
      if (chance(mischief.interrupted)) request_interrupted(i);
      if (chance(mischief.more)) live_.push_back(make(below(kMostBytes), i + 1 + below(4)));
      if (!chance(mischief.fewer)) request(requests[i], mischief);
    }
  }

  void request(Request request, const Mischief& mischief) {
    if (chance(mischief.larger)) request.bytes += 1 + below(kMostBytes);
    if (chance(mischief.smaller)) request.bytes = below(request.bytes + 1);
    if (chance(mischief.longer)) request.freed_before += 1 + below(8);
    Held held = make(request.bytes, request.freed_before, kLayers[request.layer]);
    if (chance(mischief.outlives)) {
      held.freed_in_step += 1 + below(3);
      held.freed_before = chance(50) ? kEndOfStep : below(10);
    }
    live_.push_back(std::move(held));
  }

  void request_interrupted(std::size_t now) {
    Interruption interruption(allocator_);
    live_.push_back(make(below(kMostBytes), now + below(3)));
    if (chance(30)) {
      Interruption nested(allocator_);
      live_.push_back(make(below(kMostBytes), now + below(3)));
    }
  }

  Held make(std::size_t bytes, std::size_t freed_before, std::string_view layer = kLayers[0]) {
    Held held{allocator_.allocate(bytes, {.op = "random", .layer = layer}),
              static_cast<std::uint8_t>(random_()), freed_before, step_};
    if (has_memory_) std::memset(held.block.address(), held.fill, held.block.bytes());
    return held;
  }

  // Frees what is due before request `now` of the running step.
  void free_due(std::size_t now) {
    for (std::size_t i = 0; i < live_.size();) {
      const Held& held = live_[i];
      const bool due =
          held.freed_in_step < step_ || (held.freed_in_step == step_ && held.freed_before <= now);
      if (due || (now == kEndOfStep && held.freed_in_step == step_)) {
        free_held(live_, i);
      } else {
        ++i;
      }
    }
  }

  void free_held(std::vector<Held>& blocks, std::size_t index) {
    const Held held = std::move(blocks[index]);
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
    if (!has_memory_) return;
    const std::byte* first = held.block.address();
    const std::size_t bytes = held.block.bytes();
    if (bytes == 0) return;
    if (*first != std::byte{held.fill} || std::memcmp(first, first + 1, bytes - 1) != 0) {
      throw std::logic_error("a live block was overwritten");
    }
  }

  // Leaves a cut step in one of several ways: frees before or after its end, abandons it or not.
  bool leave() {
    const std::size_t way = below(4);
    if (way == 0) free_due(kEndOfStep);
    if (way == 1) allocator_.end_step();
    if (way != 1 && chance(70)) allocator_.abandon_step();
    if (way != 2) free_due(kEndOfStep);
    return false;
  }

  Allocator& allocator_;
  std::mt19937_64 random_;
  bool has_memory_;
  std::vector<std::vector<Request>> habits_;
  std::vector<Held> live_, residents_;
  std::uint64_t step_ = 0;
};

}  // namespace skyline
