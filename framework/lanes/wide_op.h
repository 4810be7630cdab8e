#pragma once

#include <cstdint>
#include <functional>

namespace skyline {

class LaneQueue;

// While it lives, the op that this thread runs is wide: all lanes of a queue compute its loops
// together. The queue is idle, and this thread is the program's.
class WideOp {
 public:
  using Body = std::function<void(std::int64_t begin, std::int64_t end)>;

  explicit WideOp(LaneQueue& queue) noexcept;
  ~WideOp();
  WideOp(const WideOp&) = delete;
  WideOp& operator=(const WideOp&) = delete;

  // True if the op that this thread runs is wide.
  static bool running() noexcept;
  // Calls body(begin, end) on all lanes at the same time, for ranges that together are [0, count)
  // and begin at multiples of `grain`. Only in a wide op. Throws what the first range throws.
  static void share(std::int64_t count, std::int64_t grain, const Body& body);
};

}  // namespace skyline
