#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/device.h"
#include "memory/replay/live_events.h"

namespace skyline {

// Blocks of one category, or one block.
struct LiveShare {
  std::string name;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  // requested
};

// Why a request of a replay was refused, and what was alive then.
struct ShortageReport {
  TraceErrorFacts place = {};
  std::string id = {};
  std::uint64_t bytes = 0;
  OutOfMemoryFacts facts = {};
  std::string sentence = {};                      // the allocator's
  std::uint64_t live_blocks = 0, live_bytes = 0;  // requested
  std::vector<LiveShare> categories = {};  // the largest first; empty for a trace without tags
  std::vector<LiveShare> largest = {};     // blocks, the largest first, a few
};

// What one allocator did with a trace.
struct ReplayFigures {
  std::string allocator = {};
  Statistics end = {};  // with the blocks that were never freed
  // Right after the request that raised reserved memory to its peak; empty when that was not looked
  // at (see EventReplay).
  std::optional<Statistics> at_peak = {};
  std::uint64_t refused = 0;                   // requests
  std::vector<ShortageReport> shortages = {};  // of the first few
};

// The end of a replay, for observers.
struct ReplayEnd {
  const LiveEvents& events;
  std::span<const Extent> extents;  // by slot; the address is null where nothing is held
  const Allocator& allocator;
};

// Watches the replay of a trace under one allocator.
class ReplayObserver {
 public:
  virtual ~ReplayObserver() = default;
  virtual void allocated(const LiveEvents&, const Extent&) {}
  virtual void refused(const LiveEvents&, const OutOfMemory&) {}
  // `extent` was given back.
  virtual void freed(const LiveEvents&, const Extent&) {}
  virtual void step_began(const LiveEvents&) {}
  virtual void finished(const ReplayEnd&) {}
};

// Sends the events of a trace through one allocator. A request that is refused is counted, its free
// is left out, and the replay goes on. Constant memory beside the live blocks.
//
// The allocator's statistics at the peak are taken whenever a request has raised the peak of
// reserved memory: kExactLooks times, and then only when it has grown by a 64th since. So an
// allocator that reserves more with every request, and needs O(n) for its statistics, is not asked
// every time.
class EventReplay {
 public:
  static constexpr int kExactLooks = 4096;
  static constexpr std::size_t kShortagesKept = 3;

  // Allocator, device (which the allocator alone uses) and observers outlive the replay.
  EventReplay(std::string name, Allocator& allocator, const Device& device,
              std::vector<ReplayObserver*> observers = {});
  // Gives every block back.
  ~EventReplay();
  EventReplay(const EventReplay&) = delete;
  EventReplay& operator=(const EventReplay&) = delete;

  // The event that `events` holds. Throws what the allocator's begin_step throws.
  void apply(const LiveEvents& events);
  // After the last event: ends the step and tells the observers.
  void finish(const LiveEvents& events);

  // After finish().
  const ReplayFigures& figures() const noexcept { return figures_; }

 private:
  void allocate(const LiveEvents& events);
  void refuse(const LiveEvents& events, const OutOfMemory& refusal);
  void free(const LiveEvents& events);
  void look_at_peak(bool last);

  Allocator& allocator_;
  const Device& device_;
  std::vector<ReplayObserver*> observers_;
  std::vector<Extent> extents_;  // by slot
  ReplayFigures figures_;
  // Reserved: the peak, the last one that was considered, the last one looked at.
  std::size_t peak_bytes_ = 0, considered_bytes_ = 0, looked_at_bytes_ = 0;
  int looks_ = 0;
  bool in_step_ = false;
};

}  // namespace skyline
