#include "memory/replay/trace_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
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

}  // namespace skyline
