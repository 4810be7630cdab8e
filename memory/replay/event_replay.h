// Runs events through an allocator, and measures what they ask for whatever serves them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/device.h"
#include "memory/replay/live_events.h"
#include "memory/trace.h"

namespace skyline {

// Some live blocks: one category, or one block.
struct LiveShare {
  std::string name;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  // requested
};

// Why a request was refused, and what was alive at that moment.
struct ShortageReport {
  TraceErrorFacts place = {};
  std::string id = {};
  std::uint64_t bytes = 0;
  OutOfMemoryFacts facts = {};
  std::string sentence = {};                      // the allocator's message
  std::uint64_t live_blocks = 0, live_bytes = 0;  // requested
  std::vector<LiveShare> categories = {};         // largest first; empty for a trace without tags
  std::vector<LiveShare> largest = {};            // the few largest blocks, largest first
};

// The result of replaying a trace under one allocator.
struct ReplayFigures {
  std::string allocator = {};
  Statistics end = {};  // includes blocks that were never freed
  // Taken right after the request that raised reserved memory to its peak; empty if that one was
  // skipped (see EventReplay).
  std::optional<Statistics> at_peak = {};
  std::uint64_t refused = 0;    // number of requests
  bool merges_sources = false;  // blocks of one stream or private pool served another
  std::vector<ShortageReport> shortages = {};  // the first few
};

// The end of a replay, as observers see it.
struct ReplayEnd {
  const LiveEvents& events;
  std::span<const Extent> extents;  // by slot; the address is null if nothing is held
  const Allocator& allocator;
};

// Observes the replay of a trace under one allocator.
class ReplayObserver {
 public:
  virtual ~ReplayObserver() = default;
  virtual void allocated(const LiveEvents&, const Extent&) {}
  virtual void refused(const LiveEvents&, const OutOfMemory&) {}
  // Called after `extent` was released.
  virtual void freed(const LiveEvents&, const Extent&) {}
  virtual void step_began(const LiveEvents&) {}
  virtual void finished(const ReplayEnd&) {}
};

// Sends the events of a trace through one allocator. Counts refused requests, skips their frees,
// and goes on. Constant memory besides the live blocks.
//
// Takes the allocator's statistics each time a request raises the peak of reserved memory: the
// first kExactLooks times always, then only after growth by a 64th. So an allocator that reserves
// more with every request, and needs O(n) for its statistics, is not asked every time.
class EventReplay {
 public:
  static constexpr int kExactLooks = 4096;
  static constexpr std::size_t kShortagesKept = 3;

  // Allocator, device (used by that allocator alone) and observers must outlive the replay.
  EventReplay(std::string name, Allocator& allocator, const Device& device,
              std::vector<ReplayObserver*> observers = {});
  // Releases every block.
  ~EventReplay();
  EventReplay(const EventReplay&) = delete;
  EventReplay& operator=(const EventReplay&) = delete;

  // Replays the current event of `events`. Throws what the allocator's begin_step throws.
  void apply(const LiveEvents& events);
  // Call after the last event: ends the step and notifies the observers.
  void finish(const LiveEvents& events);

  // Valid after finish().
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
  std::vector<bool> held_;       // by slot: a block of 0 bytes may have no address
  RequestSource source_;         // of the last request
  ReplayFigures figures_;
  // Reserved bytes: the peak, the last peak considered, the last one with statistics.
  std::size_t peak_bytes_ = 0, considered_bytes_ = 0, looked_at_bytes_ = 0;
  int looks_ = 0;
  int interruptions_ = 0;
  bool in_step_ = false;
};

// Measures what the events of a trace ask for, independent of any allocator. Constant memory.
class EventDemand {
 public:
  // Requests are rounded up to `alignment` (at least 1) for the lower bound.
  explicit EventDemand(std::uint64_t alignment = kAlignmentBytes) : alignment_(alignment) {}

  void apply(const LiveEvents& events);

  std::uint64_t blocks() const noexcept { return blocks_; }          // allocated so far
  std::uint64_t peak_live_blocks() const noexcept { return most_; }  // at once
  // The most rounded bytes alive at once: no allocator or plan reserves less. Empty above 2^63 − 1.
  std::optional<std::uint64_t> lower_bound() const;

 private:
  // Holds 2^64 blocks of 2^63 bytes.
  using Wide = unsigned __int128;
  Wide rounded_bytes(std::uint64_t bytes) const;

  std::uint64_t alignment_;
  std::uint64_t blocks_ = 0, live_ = 0, most_ = 0;
  Wide live_bytes_ = 0, most_bytes_ = 0;
};

}  // namespace skyline
