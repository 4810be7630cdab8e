#include "memory/replay/trace_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace skyline {

std::vector<TraceEvent> trace_events(const Trace& trace) {
  std::vector<TraceEvent> events;
  events.reserve(2 * trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    events.push_back({trace.blocks[i].lower, true, i});
    events.push_back({trace.blocks[i].upper, false, i});
  }
  std::ranges::sort(events, [](const TraceEvent& a, const TraceEvent& b) {
    return std::tie(a.tick, a.allocation, a.block) < std::tie(b.tick, b.allocation, b.block);
  });
  return events;
}

TraceEventReader::TraceEventReader(Trace trace, std::string_view source)
    : trace_(std::move(trace)), source_(source), events_(trace_events(trace_)) {}

bool TraceEventReader::next(AllocationEvent& event) {
  if (next_ == events_.size()) return false;
  const TraceEvent& found = events_[next_++];
  id_ = trace_.id(found.block);
  event = {
      .kind = found.allocation ? AllocationEvent::Kind::kAllocation : AllocationEvent::Kind::kFree,
      .id = id_};
  if (!found.allocation) return true;
  event.bytes = trace_.blocks[found.block].bytes;
  if (!tagged()) return true;
  event.tag = trace_.tags[found.block].view();
  return true;
}

TraceErrorFacts TraceEventReader::place() const {
  if (next_ == 0) return {.source = source_};
  return {.source = fmt::format("{} tick {}", source_, events_[next_ - 1].tick)};
}

void TraceBuilder::apply(const LiveEvents& events) {
  if (passed_limit_ || !events.of_block()) return;
  if (events.event().kind == AllocationEvent::Kind::kAllocation) return add(events);
  trace_.blocks[block_of_slot_[events.slot()]].upper = events.tick();
}

void TraceBuilder::add(const LiveEvents& events) {
  if (trace_.size() == most_blocks_) {
    passed_limit_ = true;
    trace_ = {};
    block_of_slot_ = {};
    return;
  }
  if (events.slot() >= block_of_slot_.size()) block_of_slot_.resize(events.slot() + 1);
  block_of_slot_[events.slot()] = trace_.size();
  trace_.blocks.push_back({events.tick(), std::numeric_limits<Tick>::max(), events.block().bytes});
  if (keep_ == Keep::kBlocks) return;
  trace_.ids.push_back(events.block().id);
  trace_.tags.push_back(events.block().tag);
}

Trace TraceBuilder::take(const LiveEvents& events) {
  for (TraceBlock& block : trace_.blocks) block.upper = std::min(block.upper, events.ticks());
  const bool untagged =
      std::ranges::all_of(trace_.tags, [](const BlockTag& tag) { return tag == BlockTag{}; });
  if (untagged) trace_.tags.clear();
  make_ids_differ();
  return std::move(trace_);
}

void TraceBuilder::make_ids_differ() {
  std::unordered_set<std::string> taken(trace_.ids.begin(), trace_.ids.end());
  if (taken.size() == trace_.ids.size()) return;
  std::unordered_map<std::string, std::uint64_t> times;
  for (std::string& id : trace_.ids) {
    std::uint64_t& time = times[id];
    if (++time == 1) continue;
    std::string other = id + '#' + std::to_string(time);
    while (!taken.insert(other).second) other = id + '#' + std::to_string(++time);
    id = std::move(other);
  }
}

}  // namespace skyline
