#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/session/step_log.h"
#include "memory/session/step_requests.h"

namespace skyline {

// Where the tags of a step's requests stand, for steps that leave out some of the requests: a step
// whose tags are some of these, in this order, finds a place for each of its requests by taking the
// first that is left. O(tag) for the next place, O(log places) for one further on.
class TagMatcher {
 public:
  explicit TagMatcher(const std::vector<StepRequest>& requests);
  TagMatcher(const TagMatcher&) = delete;
  TagMatcher& operator=(const TagMatcher&) = delete;

  // The first request at `from` or behind it that bears the tag; kStepEnd: none.
  RequestIndex next(const Tag& tag, RequestIndex from) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Tag& tag) const noexcept;
    std::size_t operator()(const BlockTag& tag) const noexcept;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const BlockTag& a, const BlockTag& b) const noexcept { return a == b; }
    bool operator()(const Tag& a, const BlockTag& b) const noexcept;
    bool operator()(const BlockTag& a, const Tag& b) const noexcept { return (*this)(b, a); }
  };

  std::unordered_map<BlockTag, std::vector<RequestIndex>, Hash, Equal> places_;
  std::vector<const BlockTag*> tags_;  // of each request; keys of places_
};

// As many requests, and each with the tag of the other's.
bool same_tags(const std::vector<StepRequest>& a, const std::vector<StepRequest>& b);

// Whether a step that was served by position made other requests than the known ones: another
// number of them, or one with another tag, as far as its log has seen them.
bool of_another_order(const StepLog& log, const std::vector<StepRequest>& known);

// The maximum of what was known and what another step asks for, as merged() has it.
StepDemand joined(StepDemand known, const std::vector<StepRequest>& other);
// Of all these steps, the first of which the others are compared to: they meet by tag unless all
// have the same tags.
StepDemand joined(const std::vector<std::vector<StepRequest>>& steps);

}  // namespace skyline
