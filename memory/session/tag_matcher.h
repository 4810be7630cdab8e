#pragma once

#include <unordered_map>
#include <vector>

#include "memory/session/recording.h"

namespace skyline {

// Finds the plan's request for each request of a step by its tag, for steps that leave some of the
// plan's requests out: each takes the first one with its tag behind the last one taken. So a step
// whose tags are a subsequence of the plan's finds an index for each request. O(tag) for the next
// index, O(log indices) for one further on.
class TagMatcher {
 public:
  explicit TagMatcher(const std::vector<StepRequest>& requests);
  TagMatcher(const TagMatcher&) = delete;
  TagMatcher& operator=(const TagMatcher&) = delete;

  // Returns the first request from `from` on with this tag; kStepEnd: none.
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

  std::unordered_map<BlockTag, std::vector<RequestIndex>, Hash, Equal> indices_;
  std::vector<const BlockTag*> tags_;  // request → its key in indices_
};

// True when a step served by position made other requests than the known ones: a different number,
// or one with a different tag, as far as its log shows.
bool of_another_order(const StepLog& log, const std::vector<StepRequest>& known);

// Returns the maximum of the known requests and another step's, as merged() does.
StepRecording joined(StepRecording known, const std::vector<StepRequest>& other);
// Returns the maximum of all these steps. They match by tag unless all have the same tags.
StepRecording joined(const std::vector<std::vector<StepRequest>>& steps);

}  // namespace skyline
