#include "memory/formats/trace_event_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace skyline {

TraceEventReader::TraceEventReader(Trace trace, std::string_view source)
    : trace_(std::move(trace)), source_(source) {
  changes_.reserve(2 * trace_.size());
  for (std::size_t i = 0; i < trace_.size(); ++i) {
    changes_.push_back({trace_.blocks[i].lower, true, i});
    changes_.push_back({trace_.blocks[i].upper, false, i});
  }
  std::ranges::sort(changes_, [](const Change& a, const Change& b) {
    return std::tie(a.tick, a.allocation, a.block) < std::tie(b.tick, b.allocation, b.block);
  });
}

bool TraceEventReader::next(AllocationEvent& event) {
  if (next_ == changes_.size()) return false;
  const Change& change = changes_[next_++];
  id_ = trace_.id(change.block);
  event = {
      .kind = change.allocation ? AllocationEvent::Kind::kAllocation : AllocationEvent::Kind::kFree,
      .id = id_};
  if (!change.allocation) return true;
  event.bytes = trace_.blocks[change.block].bytes;
  if (!tagged()) return true;
  const BlockTag& tag = trace_.tags[change.block];
  event.tag = tag.view();
  return true;
}

TraceErrorFacts TraceEventReader::place() const {
  if (next_ == 0) return {.source = source_};
  return {.source = fmt::format("{} tick {}", source_, changes_[next_ - 1].tick)};
}

}  // namespace skyline
