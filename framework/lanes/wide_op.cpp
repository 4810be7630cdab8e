#include "framework/lanes/wide_op.h"

#include <omp.h>

#include <utility>

#include "framework/lanes/lane_queue.h"

namespace skyline {
namespace {

thread_local LaneQueue* shared_by = nullptr;

}  // namespace

WideOp::WideOp(LaneQueue& queue) noexcept { shared_by = &queue; }
WideOp::~WideOp() { shared_by = nullptr; }

bool WideOp::running() noexcept { return shared_by != nullptr; }

// A loop within a range is not shared again.
void WideOp::share(std::int64_t count, std::int64_t grain, const Body& body) {
  LaneQueue* const queue = std::exchange(shared_by, nullptr);
  struct Restore {
    LaneQueue* queue;
    ~Restore() { shared_by = queue; }
  } const restore{queue};
  queue->share(count, grain, [&, threads = omp_get_max_threads()](auto begin, auto end) {
    omp_set_num_threads(threads);  // each lane has a number of its own
    body(begin, end);
  });
}

}  // namespace skyline
