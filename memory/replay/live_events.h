// The events of a recorded program, one at a time, and the blocks alive between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/allocator.h"
#include "memory/allocators/allocators.h"
#include "memory/errors.h"
#include "memory/trace.h"

namespace skyline {

// One line of an event trace: what a program asked of its allocator. Views are valid until the
// reader's next event.
struct AllocationEvent {
  // kInterrupt, kResume: a part of a step that is not hot begins and ends; they nest. kReturn: the
  // program returns cached memory to the device (torch.cuda.empty_cache).
  enum class Kind : std::uint8_t { kAllocation, kFree, kStep, kInterrupt, kResume, kReturn };
  Kind kind = Kind::kAllocation;
  std::string_view id = {};      // of the block; unique among live blocks
  std::uint64_t bytes = 0;       // as requested, at most 2^63 − 1; allocations only
  Tag tag = {};                  // allocations only; empty if unknown
  std::string_view stream = {};  // of the device, as the trace names it; empty if unknown
  std::string_view pool = {};    // the private pool, as the trace names it; empty: none
};

// Reads events in order, one at a time, so that a trace need not fit in memory.
class EventReader {
 public:
  virtual ~EventReader() = default;

  // Reads the next event; returns false at the end. Throws TraceError naming source, line and
  // field.
  virtual bool next(AllocationEvent& event) = 0;

  // The place of the last event, for errors about it.
  virtual TraceErrorFacts place() const = 0;

  // True if events may have tags, streams or pools.
  virtual bool tagged() const { return false; }
  // The settings of PyTorch's allocator that the recording holds; empty if it holds none.
  virtual std::optional<CachingOptions> recorded_options() const { return {}; }
  // One sentence for the user about what was read so far, or empty.
  virtual std::string note() const { return {}; }
  // True if blocks may have been alive when the recording began, so that frees of unknown ids are
  // no error.
  virtual bool begins_midway() const { return false; }
};

// A live block.
struct LiveBlock {
  std::string id = {};
  std::uint64_t bytes = 0;  // as requested
  Tick allocated = 0;       // tick of its allocation
  BlockTag tag = {};
  RequestSource source = {};
  bool alive = false;
};

// The live blocks, by id. Each has a slot, a small number that a later block reuses, so tables of
// blocks can be vectors. Memory grows with the most blocks alive at once. O(1) on average.
class LiveBlocks {
 public:
  // Returns the new block's slot; empty if a live block has this id.
  std::optional<std::size_t> add(const AllocationEvent& event, Tick tick,
                                 RequestSource source = {});
  // Returns the slot of a live block; empty if there is none with this id. at() keeps its facts
  // until forget().
  std::optional<std::size_t> remove(std::string_view id);
  // Lets another block reuse the slot. Call after remove().
  void forget(std::size_t slot) { unused_.push_back(static_cast<std::uint32_t>(slot)); }

  const LiveBlock& at(std::size_t slot) const { return slots_[slot]; }
  std::size_t slots() const noexcept { return slots_.size(); }
  std::size_t size() const noexcept { return size_; }  // live blocks

 private:
  // The table of ids uses open addressing with linear probing and is at most half full.
  struct Entry {
    std::uint32_t slot = kNone;
    std::uint32_t hash = 0;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::size_t find(std::string_view id, std::uint32_t hash) const;
  void erase_entry(std::size_t index);
  void grow();
  std::size_t take_slot();

  std::vector<LiveBlock> slots_;
  std::vector<std::uint32_t> unused_;
  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

// Numbers the names that a trace uses, in their order.
class NumberedNames {
 public:
  std::uint32_t number(std::string_view name);
  const std::string& name(std::uint32_t number) const { return *names_[number]; }
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> names_;
  std::uint32_t last_ = 0;  // most requests come from where the one before came from
};

// Reads events, finds the block of each, checks the use of ids, and counts ticks: the first
// allocation or free is tick 0, the next tick 1; other events take none.
class LiveEvents {
 public:
  explicit LiveEvents(EventReader& reader) : reader_(reader) { pools_.number(""); }

  // Moves to the next event; returns false at the end. Throws TraceError if an id to allocate is
  // alive, an id to free is not (unless the reader begins midway: then the free is skipped) or
  // nothing is interrupted that could be resumed, and whatever the reader throws.
  bool next();

  const AllocationEvent& event() const noexcept { return event_; }
  // True if the event allocates or frees a block.
  bool of_block() const noexcept {
    return event_.kind == AllocationEvent::Kind::kAllocation ||
           event_.kind == AllocationEvent::Kind::kFree;
  }
  // The tick of the event; if it is not of a block, of the event before.
  Tick tick() const noexcept { return ticks_ - 1; }
  Tick ticks() const noexcept { return ticks_; }  // so far
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t returns() const noexcept { return returns_; }
  // The frees that were skipped.
  std::uint64_t unknown_frees() const noexcept { return unknown_frees_; }
  const NumberedNames& streams() const noexcept { return streams_; }  // of all requests so far
  const NumberedNames& pools() const noexcept { return pools_; }      // the first is no private one

  std::size_t slot() const noexcept { return slot_; }  // of the event's block, if it is of one
  // The event's block; a freed one is valid until next().
  const LiveBlock& block() const { return blocks_.at(slot_); }
  const LiveBlocks& blocks() const noexcept { return blocks_; }
  TraceErrorFacts place() const { return reader_.place(); }

 private:
  bool take_event();
  [[noreturn]] void fail(const char* field, std::string problem) const;

  EventReader& reader_;
  AllocationEvent event_;
  LiveBlocks blocks_;
  NumberedNames streams_, pools_;
  std::optional<std::size_t> freed_;  // slot of the last event's block if that was a free
  std::size_t slot_ = 0;
  Tick ticks_ = 0;
  std::uint64_t steps_ = 0, interruptions_ = 0, returns_ = 0, unknown_frees_ = 0;
};

}  // namespace skyline
