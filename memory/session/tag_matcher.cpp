#include "memory/session/tag_matcher.h"

#include <algorithm>
#include <utility>

namespace skyline {
namespace {

// Returns the log that the other step would have left under the plan of `known`.
StepLog log_under(const StepRecording& known, const std::vector<StepRequest>& other) {
  const bool by_tag = known.matching == Matching::kByTag;
  const TagMatcher tags(by_tag ? known.requests : std::vector<StepRequest>{});
  const auto slots = static_cast<RequestIndex>(known.requests.size());
  RequestIndex next = 0, extra = 0;
  std::vector<Observation> seen;
  std::vector<RequestIndex> places;  // request → place among both
  for (const StepRequest& request : other) {
    const RequestIndex slot = by_tag ? tags.next(request.tag.view(), next) : next;
    Observation observation{.bytes = request.bytes,
                            .release_order = request.release_order,
                            .outlives_step = request.outlives_step,
                            .tag = request.tag};
    if (slot < slots) {
      observation.request = slot;
      observation.kind = Deviation::kLarger;
      places.push_back(slot + extra);
      next = slot + 1;
    } else {
      observation.kind = next < slots ? Deviation::kBetween : Deviation::kBeyondPlan;
      observation.request = next + extra++;
      places.push_back(observation.request);
    }
    seen.push_back(std::move(observation));
  }
  StepLog log;
  for (std::size_t i = 0; i < other.size(); ++i) {
    seen[i].needed_until = moved_until(other[i].needed_until, places);
    log.note(std::move(seen[i]));
  }
  return log;
}

// True when both have the same tags in the same order.
bool same_tags(const std::vector<StepRequest>& a, const std::vector<StepRequest>& b) {
  return std::ranges::equal(a, b, {}, &StepRequest::tag, &StepRequest::tag);
}

}  // namespace

std::size_t TagMatcher::Hash::operator()(const Tag& tag) const noexcept {
  const std::hash<std::string_view> hash;
  const std::size_t kinds =
      static_cast<std::size_t>(tag.phase) * kCategoryCount + static_cast<std::size_t>(tag.category);
  return (hash(tag.op) * 31 + hash(tag.layer)) * 31 + kinds;
}

std::size_t TagMatcher::Hash::operator()(const BlockTag& tag) const noexcept {
  return (*this)(tag.view());
}

bool TagMatcher::Equal::operator()(const Tag& a, const BlockTag& b) const noexcept {
  return a.op == b.op && a.layer == b.layer && a.phase == b.phase && a.category == b.category;
}

TagMatcher::TagMatcher(const std::vector<StepRequest>& requests) {
  for (RequestIndex request = 0; request < requests.size(); ++request) {
    const auto entry = indices_.try_emplace(requests[request].tag).first;
    entry->second.push_back(request);
    tags_.push_back(&entry->first);
  }
}

RequestIndex TagMatcher::next(const Tag& tag, RequestIndex from) const {
  if (from < tags_.size() && Equal{}(tag, *tags_[from])) return from;
  const auto entry = indices_.find(tag);
  if (entry == indices_.end()) return kStepEnd;
  const std::vector<RequestIndex>& indices = entry->second;
  const auto index = std::lower_bound(indices.begin(), indices.end(), from);
  return index == indices.end() ? kStepEnd : *index;
}

bool of_another_order(const StepLog& log, const std::vector<StepRequest>& known) {
  if (log.requests() != known.size()) return true;
  const std::vector<Observation>& all = log.observations();
  return std::any_of(all.begin(), all.end(), [&](const Observation& seen) {
    return seen.request < known.size() && seen.tag != BlockTag{} &&
           seen.tag != known[seen.request].tag;
  });
}

StepRecording joined(StepRecording known, const std::vector<StepRequest>& other) {
  const StepLog log = log_under(known, other);
  known.requests = merged(std::move(known.requests), log);
  return known;
}

StepRecording joined(const std::vector<std::vector<StepRequest>>& steps) {
  StepRecording all;
  for (const std::vector<StepRequest>& step : steps) {
    if (!same_tags(steps.front(), step)) all.matching = Matching::kByTag;
  }
  for (const std::vector<StepRequest>& step : steps) all = joined(std::move(all), step);
  return all;
}

}  // namespace skyline
