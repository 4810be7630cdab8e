#include "memory/replay/recorded_run.h"

#include <algorithm>
#include <utility>

#include "memory/replay/trace_events.h"
#include "memory/session/session.h"

namespace skyline {
namespace {

using RunAct = RecordedRun::Act;

// Doubles the capacity when it is short, so that growing takes O(1) on average.
template <typename T>
void reserve_ahead(std::vector<T>& list, std::size_t size) {
  if (list.capacity() < size) list.reserve(2 * size);
}

// Sends the events of a run through an allocator.
class RunPlayer {
 public:
  RunPlayer(const RecordedRun& run, Allocator& allocator)
      : run_(run), allocator_(allocator), blocks_(run.requests.size()) {}

  void play(const std::vector<RecordedRun::Event>& events) {
    for (const RecordedRun::Event& event : events) {
      switch (event.act) {
        case RunAct::kAllocate: {
          const RecordedRun::Request& request = run_.requests[event.request];
          blocks_[event.request] = allocator_.allocate(request.bytes, request.tag.view());
          break;
        }
        case RunAct::kFree:
          blocks_[event.request].reset();
          break;
        case RunAct::kInterrupt:
          allocator_.interrupt();
          break;
        case RunAct::kResume:
          allocator_.resume();
          break;
      }
    }
  }

  void play_step() {
    allocator_.begin_step(run_.key);
    play(run_.step);
    allocator_.end_step();
  }

 private:
  const RecordedRun& run_;
  Allocator& allocator_;
  std::vector<Block> blocks_;
};

std::uint64_t peak_reserved_bytes(const ReplayedAllocator& replayed) {
  if (replayed.session() == nullptr) return replayed.get().statistics().peak_reserved_bytes;
  return replayed.session()->session_statistics().peak_reserved_bytes_since_switch;
}

}  // namespace

ReplayedAllocator::ReplayedAllocator(const ReplayChoice& choice)
    : device_(choice.capacity_bytes, choice.commit_bytes) {
  const bool names_planner = std::ranges::find(choice.planner_table, choice.allocator,
                                               &PlannerEntry::name) != choice.planner_table.end();
  if (choice.allocator != kPlannedAllocator && !names_planner) {
    allocator_ = make_allocator(choice.allocator, device_, choice.allocator_options);
    return;
  }
  auto session = std::make_unique<Session>(
      device_, SessionOptions{.planner = names_planner ? choice.allocator : choice.planner,
                              .planner_table = choice.planner_table,
                              .step_planner = choice.step_planner});
  session_ = session.get();
  allocator_ = std::move(session);
}

std::int64_t RecordedRun::added_bytes(const Event& event, std::uint64_t alignment) const {
  if (event.act != RunAct::kAllocate && event.act != RunAct::kFree) return 0;
  const auto bytes =
      static_cast<std::int64_t>(align_checked(requests[event.request].bytes, alignment));
  return event.act == RunAct::kAllocate ? bytes : -bytes;
}

std::uint64_t RecordedRun::resident_bytes(std::uint64_t alignment) const {
  std::int64_t bytes = 0;
  for (const Event& event : before) bytes += added_bytes(event, alignment);
  return static_cast<std::uint64_t>(bytes);
}

std::uint64_t RecordedRun::most_bytes(std::uint64_t alignment) const {
  std::int64_t bytes = 0, most = 0;
  for (const std::vector<Event>* events : {&before, &step}) {
    for (const Event& event : *events) {
      most = std::max(most, bytes += added_bytes(event, alignment));
    }
  }
  return static_cast<std::uint64_t>(most);
}

RecordedRun run_of(const Trace& trace) {
  RecordedRun run;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    run.requests.push_back(
        {trace.blocks[i].bytes, trace.tags.empty() ? BlockTag() : trace.tags[i]});
  }
  for (const TraceEvent& event : trace_events(trace)) {
    run.step.push_back({event.allocation ? RunAct::kAllocate : RunAct::kFree,
                        static_cast<std::uint32_t>(event.block)});
  }
  return run;
}

// Makes room for the release as well, which must not throw.
Extent RunRecorder::acquire(std::size_t bytes, const Tag& tag) {
  const std::size_t request = run_.requests.size();
  run_.requests.push_back({bytes, BlockTag(tag)});
  reserve_ahead(run_.before, 3 * request + 3);
  reserve_ahead(run_.step, 3 * request + 3);
  note({RunAct::kAllocate, static_cast<std::uint32_t>(request)});
  account_.served(bytes, align_request(bytes));
  // Any address that is aligned and not null.
  return {reinterpret_cast<std::byte*>(kHugePageBytes), bytes, steps_ << 32 | request};
}

void RunRecorder::release(const Extent& extent) noexcept {
  account_.released(extent.bytes, align_request(extent.bytes));
  const auto request = static_cast<std::uint32_t>(extent.cookie);
  const bool of_this_step = extent.cookie >> 32 == steps_;
  if (of_this_step || request < requests_before_) note({RunAct::kFree, request});
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

AllocatorUse replay_run(const RecordedRun& run, std::span<const Trace> steps,
                        const ReplayChoice& choice) {
  AllocatorUse use{.allocator = choice.allocator};
  ReplayedAllocator replayed(choice);
  RunPlayer player(run, replayed.get());
  Statistics before;
  const auto asked_device = [&] {
    const Statistics now = replayed.get().statistics();
    return now.device_allocations != before.device_allocations ||
           now.device_frees != before.device_frees;
  };
  try {
    player.play(run.before);
    if (replayed.session() != nullptr) replayed.session()->adopt(steps, run.key);
    do {
      before = replayed.get().statistics();
      player.play_step();
      if (++use.steps == 1) {
        use.device_allocations = replayed.get().statistics().device_allocations;
      }
    } while (asked_device() && use.steps < kMostReplayedSteps);
    use.fits = true;
  } catch (const OutOfMemory& refusal) {
    use.problem = refusal.what();
  }
  const Statistics end = replayed.get().statistics();
  use.peak_reserved_bytes = peak_reserved_bytes(replayed);
  use.later_device_allocations = end.device_allocations - use.device_allocations;
  use.flushes = end.flushes;
  return use;
}

}  // namespace skyline
