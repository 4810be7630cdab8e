#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/replay/event_reader.h"
#include "memory/trace.h"

namespace skyline {

// What is remembered of a block while it lives.
struct LiveBlock {
  std::string id = {};
  std::uint64_t bytes = 0;  // as requested
  Tick allocated = 0;       // its allocation's tick
  BlockTag tag = {};
  std::string stream = {};
  bool alive = false;
};

// The blocks that are alive, by id. A block has a slot, a small number that another block takes
// over after it, so that tables of blocks are vectors. Memory: that of the most blocks alive at
// once. O(1) on average.
class LiveBlocks {
 public:
  // The new block's slot; none when a live block bears the id.
  std::optional<std::size_t> add(const AllocationEvent& event, Tick tick);
  // The slot of a live block; none when there is none of the id. What is remembered of it stays
  // until forget().
  std::optional<std::size_t> remove(std::string_view id);
  // The slot, after remove(), may be taken over.
  void forget(std::size_t slot) { unused_.push_back(static_cast<std::uint32_t>(slot)); }

  const LiveBlock& at(std::size_t slot) const { return slots_[slot]; }
  std::size_t slots() const noexcept { return slots_.size(); }
  std::size_t size() const noexcept { return size_; }  // alive

 private:
  // An entry of the table of ids: open addressing, linear probing, at most half full.
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

// The events of a reader, each with its block: checks that ids are used as they may be, and keeps
// the time. The first allocation or free happens at tick 0, the next one at tick 1; steps take
// none.
class LiveEvents {
 public:
  explicit LiveEvents(EventReader& reader) : reader_(reader) {}

  // The next event; false at the end. Throws TraceError for an id that is alive already, for the
  // free of an id that is not alive (unless the reader begins midway: then the free is left out),
  // and what the reader throws.
  bool next();

  const AllocationEvent& event() const noexcept { return event_; }
  Tick tick() const noexcept { return ticks_ - 1; }  // of the event; a step: of the one before
  Tick ticks() const noexcept { return ticks_; }     // so far
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t unknown_frees() const noexcept { return unknown_frees_; }  // left out

  std::size_t slot() const noexcept { return slot_; }  // of the event's block; not for a step
  const LiveBlock& block() const { return blocks_.at(slot_); }  // that of a free until next()
  const LiveBlocks& blocks() const noexcept { return blocks_; }
  TraceErrorFacts place() const { return reader_.place(); }

 private:
  bool take_event();
  [[noreturn]] void fail(std::string problem) const;

  EventReader& reader_;
  AllocationEvent event_;
  LiveBlocks blocks_;
  std::optional<std::size_t> freed_;  // slot of the event before, when that was a free
  std::size_t slot_ = 0;
  Tick ticks_ = 0;
  std::uint64_t steps_ = 0, unknown_frees_ = 0;
};

}  // namespace skyline
