#include "memory/session/recording.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/errors.h"

namespace skyline {
namespace {

// Returns the blocks sorted by needed_until, then by release order.
std::vector<std::uint32_t> in_release_order(const std::vector<StepRequest>& requests,
                                            const std::vector<RequestIndex>& request_of) {
  std::vector<std::uint32_t> blocks(request_of.size());
  std::iota(blocks.begin(), blocks.end(), 0u);
  std::stable_sort(blocks.begin(), blocks.end(), [&](std::uint32_t a, std::uint32_t b) {
    const StepRequest& first = requests[request_of[a]];
    const StepRequest& second = requests[request_of[b]];
    return first.needed_until != second.needed_until ? first.needed_until < second.needed_until
                                                     : first.release_order < second.release_order;
  });
  return blocks;
}

void require_in_order(const Trace& trace, std::size_t block) {
  const TraceBlock& now = trace.blocks[block];
  if (now.lower >= now.upper) {
    throw TraceError({.source = "session",
                      .problem = fmt::format("block {} has the empty lifetime [{}, {})",
                                             trace.id(block), now.lower, now.upper)});
  }
  if (block > 0 && now.lower < trace.blocks[block - 1].lower) {
    throw TraceError({.source = "session",
                      .problem = fmt::format("block {} begins at tick {}, before its predecessor; "
                                             "expected the order of the requests",
                                             trace.id(block), now.lower)});
  }
}

void merge_one(StepRequest& known, const Observation& seen) {
  known.bytes = std::max(known.bytes, seen.bytes);
  if (known.release_order == kNeverReleased || seen.needed_until > known.needed_until) {
    known.release_order = seen.release_order;
  }
  known.needed_until = std::max(known.needed_until, seen.needed_until);
  known.outlives_step = known.outlives_step || seen.outlives_step;
  if (known.tag == BlockTag{}) known.tag = seen.tag;
}

// Returns the new places of the known requests, around those that a step made between them. The log
// has the latter in ascending order.
std::vector<RequestIndex> places_of_known(std::size_t known, const StepLog& log) {
  std::vector<RequestIndex> places;
  RequestIndex place = 0;
  for (const Observation& seen : log.observations()) {
    if (seen.kind != Deviation::kBetween) continue;
    while (place < seen.request) places.push_back(place++);
    place = seen.request + 1;
  }
  while (places.size() < known) places.push_back(place++);
  return places;
}

// Returns the known requests at their places, with empty requests in between.
std::vector<StepRequest> moved(const std::vector<StepRequest>& known,
                               const std::vector<RequestIndex>& places) {
  std::vector<StepRequest> all(known.empty() ? 0 : places.back() + 1);
  for (RequestIndex place = 0; place < all.size(); ++place) all[place].needed_until = place + 1;
  for (std::size_t i = 0; i < known.size(); ++i) {
    StepRequest& request = all[places[i]];
    request = known[i];
    request.needed_until = moved_until(request.needed_until, places);
  }
  return all;
}

}  // namespace

std::string_view deviation_name(Deviation deviation) {
  switch (deviation) {
    case Deviation::kBeyondPlan:
      return "beyond the plan";
    case Deviation::kBetween:
      return "between planned requests";
    case Deviation::kLarger:
      return "larger than planned";
    case Deviation::kOverdue:
      return "alive longer than planned";
    case Deviation::kOverlapsOverdue:
      return "overlaps an overdue block";
    case Deviation::kOutlivesStep:
      return "alive in the next step";
  }
  return "unknown";
}

void StepLog::clear() noexcept {
  observations_.clear();
  refusals_ = 0;
  releases_ = 0;
  requests_ = 0;
  cut_ = false;
}

std::size_t StepLog::note(Observation observation) {
  observations_.push_back(std::move(observation));
  return observations_.size() - 1;
}

void StepLog::refuse_last(bool keep) noexcept {
  if (!keep) return observations_.pop_back();
  Observation& seen = observations_.back();
  seen.refused = true;
  seen.needed_until = seen.request + 1;
}

void StepLog::note_release(std::size_t observation, RequestIndex requests_made) noexcept {
  Observation& seen = observations_[observation];
  // cut() has already set needed_until.
  if (!cut_) seen.needed_until = std::max(requests_made, seen.last_seen_alive_at + 1);
  seen.release_order = releases_++;
}

void StepLog::note_outlives(std::size_t observation) noexcept {
  if (!cut_) observations_[observation].outlives_step = true;
}

void StepLog::cut(RequestIndex requests_made) noexcept {
  cut_ = true;
  for (Observation& seen : observations_) {
    if (seen.needed_until != kStepEnd) continue;
    seen.needed_until = std::max(requests_made, seen.last_seen_alive_at + 1);
  }
}

bool StepLog::has(Deviation kind) const noexcept {
  return std::any_of(observations_.begin(), observations_.end(),
                     [kind](const Observation& seen) { return seen.kind == kind; });
}

CanonicalStep canonical_step(const std::vector<StepRequest>& requests) {
  CanonicalStep step{.requests = requests.size()};
  for (RequestIndex request = 0; request < requests.size(); ++request) {
    if (!requests[request].outlives_step) step.request_of.push_back(request);
  }
  step.by_release = in_release_order(requests, step.request_of);

  step.trace.blocks.resize(step.request_of.size());
  Tick tick = 0;
  auto released = step.by_release.begin();
  // Blocks needed to the end have needed_until kStepEnd, which no count reaches.
  const auto release_until = [&](RequestIndex requests_made) {
    for (; released != step.by_release.end() &&
           requests[step.request_of[*released]].needed_until <= requests_made;
         ++released) {
      step.trace.blocks[*released].upper = tick++;
    }
  };
  for (std::size_t block = 0; block < step.request_of.size(); ++block) {
    const StepRequest& request = requests[step.request_of[block]];
    release_until(step.request_of[block]);
    step.trace.blocks[block].lower = tick++;
    step.trace.blocks[block].bytes = request.bytes;
    step.trace.tags.push_back(request.tag);
  }
  release_until(kStepEnd - 1);
  for (; released != step.by_release.end(); ++released) {
    step.trace.blocks[*released].upper = tick;
  }
  return step;
}

std::vector<StepRequest> requests_of(const Trace& trace) {
  std::vector<StepRequest> requests(trace.size());
  std::vector<std::uint32_t> by_upper(trace.size());
  std::iota(by_upper.begin(), by_upper.end(), 0u);
  Tick last = 0;
  for (std::size_t block = 0; block < trace.size(); ++block) {
    require_in_order(trace, block);
    last = std::max(last, trace.blocks[block].upper);
  }
  for (std::size_t block = 0; block < trace.size(); ++block) {
    requests[block].bytes = trace.blocks[block].bytes;
    if (block < trace.tags.size()) requests[block].tag = trace.tags[block];
    if (trace.blocks[block].upper == last) continue;  // needed to the end
    const auto reuser =
        std::lower_bound(trace.blocks.begin(), trace.blocks.end(), trace.blocks[block].upper,
                         [](const TraceBlock& other, Tick upper) { return other.lower < upper; });
    requests[block].needed_until = static_cast<RequestIndex>(reuser - trace.blocks.begin());
  }
  std::stable_sort(by_upper.begin(), by_upper.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.blocks[a].upper < trace.blocks[b].upper;
  });
  for (std::uint32_t order = 0; order < by_upper.size(); ++order) {
    requests[by_upper[order]].release_order = order;
  }
  return requests;
}

RequestIndex moved_until(RequestIndex needed_until, const std::vector<RequestIndex>& places) {
  if (needed_until == kStepEnd) return kStepEnd;
  const auto behind = needed_until - std::min<std::size_t>(needed_until, places.size());
  return places[needed_until - behind - 1] + 1 + static_cast<RequestIndex>(behind);
}

std::vector<StepRequest> merged(std::vector<StepRequest> known, const StepLog& log) {
  std::vector<RequestIndex> places;
  if (log.has(Deviation::kBetween)) {
    places = places_of_known(known.size(), log);
    known = moved(known, places);
  }
  for (const Observation& seen : log.observations()) {
    const bool is_known = seen.kind != Deviation::kBeyondPlan && seen.kind != Deviation::kBetween;
    const RequestIndex place = is_known && !places.empty() ? places[seen.request] : seen.request;
    while (known.size() <= place) {
      known.push_back({.needed_until = static_cast<RequestIndex>(known.size() + 1)});
    }
    merge_one(known[place], seen);
  }
  return known;
}

bool same_requests(const std::vector<StepRequest>& a, const std::vector<StepRequest>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const StepRequest& one, const StepRequest& other) {
                      return one.bytes == other.bytes && one.needed_until == other.needed_until &&
                             one.outlives_step == other.outlives_step;
                    });
}

}  // namespace skyline
