#include "memory/replay/recorded_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"

namespace skyline {
namespace {

using Act = RecordedRun::Act;

// Makes room for one more, in steps that double.
template <typename T>
void reserve_ahead(std::vector<T>& list, std::size_t size) {
  if (list.capacity() < size) list.reserve(2 * size);
}

void apply(const RecordedRun::Event& event, const RecordedRun& run, std::uint64_t alignment,
           std::uint64_t& bytes) {
  if (event.act == Act::kAllocate)
    bytes += align_checked(run.requests[event.request].bytes, alignment);
  if (event.act == Act::kFree) bytes -= align_checked(run.requests[event.request].bytes, alignment);
}

// A run under one allocator.
class ReplayedAllocator {
 public:
  ReplayedAllocator(const RecordedRun& run, const ReplayChoice& choice)
      : run_(run),
        device_(choice.capacity_bytes, choice.commit_bytes),
        blocks_(run.requests.size()) {
    if (choice.allocator == kPlannedAllocator) {
      auto session = std::make_unique<Session>(device_, SessionOptions{.planner = choice.planner});
      session_ = session.get();
      allocator_ = std::move(session);
    } else {
      allocator_ = make_allocator(choice.allocator, device_, choice.allocator_options);
    }
  }
  // Blocks go before their allocator.
  ~ReplayedAllocator() { blocks_.clear(); }
  ReplayedAllocator(const ReplayedAllocator&) = delete;
  ReplayedAllocator& operator=(const ReplayedAllocator&) = delete;

  void prepare(const Trace& step) {
    play(run_.before);
    if (session_ != nullptr) session_->adopt(step, run_.key);
  }

  void step() {
    allocator_->begin_step(run_.key);
    play(run_.step);
    allocator_->end_step();
  }

  Statistics statistics() const { return allocator_->statistics(); }
  std::uint64_t peak_reserved_bytes() const {
    return session_ != nullptr ? session_->session_statistics().peak_reserved_bytes_since_switch
                               : allocator_->statistics().peak_reserved_bytes;
  }

 private:
  void play(const std::vector<RecordedRun::Event>& events) {
    for (const RecordedRun::Event& event : events) {
      switch (event.act) {
        case Act::kAllocate: {
          const RecordedRun::Request& request = run_.requests[event.request];
          blocks_[event.request] = allocator_->allocate(request.bytes, request.tag.view());
          break;
        }
        case Act::kFree:
          blocks_[event.request].reset();
          break;
        case Act::kInterrupt:
          allocator_->interrupt();
          break;
        case Act::kResume:
          allocator_->resume();
          break;
      }
    }
  }

  const RecordedRun& run_;
  SimulatedDevice device_;
  std::unique_ptr<Allocator> allocator_;
  Session* session_ = nullptr;
  std::vector<Block> blocks_;
};

}  // namespace

std::uint64_t RecordedRun::resident_bytes(std::uint64_t alignment) const {
  std::uint64_t bytes = 0;
  for (const Event& event : before) apply(event, *this, alignment, bytes);
  return bytes;
}

std::uint64_t RecordedRun::most_bytes(std::uint64_t alignment) const {
  std::uint64_t bytes = 0, most = 0;
  for (const std::vector<Event>* events : {&before, &step}) {
    for (const Event& event : *events) {
      apply(event, *this, alignment, bytes);
      most = std::max(most, bytes);
    }
  }
  return most;
}

// Makes room for the release as well, which must not throw.
Extent RunRecorder::acquire(std::size_t bytes, const Tag& tag) {
  const std::size_t request = run_.requests.size();
  run_.requests.push_back(
      {bytes, {std::string(tag.op), std::string(tag.layer), tag.phase, tag.category}});
  reserve_ahead(run_.before, 3 * request + 3);
  reserve_ahead(run_.step, 3 * request + 3);
  note({Act::kAllocate, static_cast<std::uint32_t>(request)});
  account_.served(bytes, align_request(bytes));
  // Any address that is aligned and not null.
  return {reinterpret_cast<std::byte*>(kHugePageBytes), bytes, steps_ << 32 | request};
}

void RunRecorder::release(const Extent& extent) noexcept {
  account_.released(extent.bytes, align_request(extent.bytes));
  const auto request = static_cast<std::uint32_t>(extent.cookie);
  const bool of_this_step = extent.cookie >> 32 == steps_;
  if (of_this_step || request < requests_before_) note({Act::kFree, request});
}

void RunRecorder::begin_step(ShapeKey key) {
  if (state_ == State::kBeforeSteps) requests_before_ = run_.requests.size();
  ++steps_;
  run_.requests.resize(requests_before_);
  run_.step.clear();
  run_.key = key;
  state_ = State::kInStep;
}

void RunRecorder::note(RecordedRun::Event event) noexcept {
  if (state_ == State::kBeforeSteps) run_.before.push_back(event);
  if (state_ == State::kInStep) run_.step.push_back(event);
}

AllocatorUse replay_run(const RecordedRun& run, const Trace& step, const ReplayChoice& choice) {
  AllocatorUse use{.allocator = choice.allocator};
  ReplayedAllocator stand(run, choice);
  Statistics before;
  const auto asked_device = [&] {
    const Statistics now = stand.statistics();
    return now.device_allocations != before.device_allocations ||
           now.device_frees != before.device_frees;
  };
  try {
    stand.prepare(step);
    do {
      before = stand.statistics();
      stand.step();
      if (++use.steps == 1) use.device_allocations = stand.statistics().device_allocations;
    } while (asked_device() && use.steps < kMostReplayedSteps);
    use.fits = true;
  } catch (const OutOfMemory& refusal) {
    use.problem = refusal.what();
  }
  const Statistics end = stand.statistics();
  use.peak_reserved_bytes = stand.peak_reserved_bytes();
  use.later_device_allocations = end.device_allocations - use.device_allocations;
  use.flushes = end.flushes;
  return use;
}

}  // namespace skyline
