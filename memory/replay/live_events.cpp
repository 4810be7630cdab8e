#include "memory/replay/live_events.h"

#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kFirstEntries = 64;  // a power of two, like all table sizes

std::uint32_t hash_of(std::string_view id) {
  const std::size_t hash = std::hash<std::string_view>()(id);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

// Returns the index of the id's entry, or of the empty entry where it would go.
std::size_t LiveBlocks::find(std::string_view id, std::uint32_t hash) const {
  const std::size_t mask = entries_.size() - 1;
  std::size_t index = hash & mask;
  for (; entries_[index].slot != kNone; index = (index + 1) & mask) {
    if (entries_[index].hash == hash && slots_[entries_[index].slot].id == id) break;
  }
  return index;
}

std::optional<std::size_t> LiveBlocks::add(const AllocationEvent& event, Tick tick,
                                           RequestSource source) {
  if (2 * (size_ + 1) > entries_.size()) grow();
  const std::uint32_t hash = hash_of(event.id);
  Entry& entry = entries_[find(event.id, hash)];
  if (entry.slot != kNone) return std::nullopt;
  const std::size_t slot = take_slot();
  LiveBlock& block = slots_[slot];
  block.id.assign(event.id);
  block.bytes = event.bytes;
  block.allocated = tick;
  block.tag.op.assign(event.tag.op);
  block.tag.layer.assign(event.tag.layer);
  block.tag.phase = event.tag.phase;
  block.tag.category = event.tag.category;
  block.source = source;
  block.alive = true;
  entry = {static_cast<std::uint32_t>(slot), hash};
  ++size_;
  return slot;
}

std::optional<std::size_t> LiveBlocks::remove(std::string_view id) {
  if (size_ == 0) return std::nullopt;
  const std::size_t index = find(id, hash_of(id));
  if (entries_[index].slot == kNone) return std::nullopt;
  const std::size_t slot = entries_[index].slot;
  slots_[slot].alive = false;
  erase_entry(index);
  --size_;
  return slot;
}

// Moves back later entries that could no longer be found.
void LiveBlocks::erase_entry(std::size_t index) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t hole = index;
  for (std::size_t next = (hole + 1) & mask; entries_[next].slot != kNone;
       next = (next + 1) & mask) {
    const std::size_t home = entries_[next].hash & mask;
    if (((next - home) & mask) < ((next - hole) & mask)) continue;
    entries_[hole] = entries_[next];
    hole = next;
  }
  entries_[hole] = {};
}

void LiveBlocks::grow() {
  const std::vector<Entry> before = std::move(entries_);
  entries_.assign(before.empty() ? kFirstEntries : 2 * before.size(), {});
  const std::size_t mask = entries_.size() - 1;
  for (const Entry& entry : before) {
    if (entry.slot == kNone) continue;
    std::size_t index = entry.hash & mask;
    while (entries_[index].slot != kNone) index = (index + 1) & mask;
    entries_[index] = entry;
  }
}

std::size_t LiveBlocks::take_slot() {
  if (unused_.empty()) {
    slots_.emplace_back();
    return slots_.size() - 1;
  }
  const std::size_t slot = unused_.back();
  unused_.pop_back();
  return slot;
}

std::uint32_t NumberedNames::number(std::string_view name) {
  if (last_ < names_.size() && *names_[last_] == name) return last_;
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    found = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
    names_.push_back(&found->first);
  }
  return last_ = found->second;
}

bool LiveEvents::next() {
  if (freed_) blocks_.forget(*std::exchange(freed_, std::nullopt));
  while (reader_.next(event_)) {
    if (take_event()) return true;
  }
  return false;
}

// Returns false for a free that is skipped.
bool LiveEvents::take_event() {
  using Kind = AllocationEvent::Kind;
  if (!of_block()) {
    if (event_.kind == Kind::kResume && interruptions_ == 0) {
      fail("event", "got a resume, expected an interruption before it");
    }
    steps_ += event_.kind == Kind::kStep;
    returns_ += event_.kind == Kind::kReturn;
    interruptions_ += event_.kind == Kind::kInterrupt;
    interruptions_ -= event_.kind == Kind::kResume;
    return true;
  }
  if (event_.kind == Kind::kAllocation) {
    const auto slot =
        blocks_.add(event_, ticks_,
                    {.stream = streams_.number(event_.stream), .pool = pools_.number(event_.pool)});
    if (!slot) fail("id", shown_cell(event_.id) + ", which is alive, expected a new id");
    slot_ = *slot;
  } else {
    freed_ = blocks_.remove(event_.id);
    if (!freed_ && reader_.begins_midway()) {
      ++unknown_frees_;
      return false;
    }
    if (!freed_) fail("id", shown_cell(event_.id) + " to free, expected the id of a live block");
    slot_ = *freed_;
  }
  ++ticks_;
  return true;
}

void LiveEvents::fail(const char* field, std::string problem) const {
  TraceErrorFacts facts = reader_.place();
  facts.field = field;
  facts.problem = std::move(problem);
  throw TraceError(std::move(facts));
}

}  // namespace skyline
