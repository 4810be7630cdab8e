#include "train/translation/longest_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memory/session/tag_matcher.h"
#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

constexpr std::int64_t kMostBatches = 1'000'000;  // search limit: under a minute
constexpr double kOnePlanShare = 0.01;            // extra memory that one plan may take

// A step's request sizes grow with these numbers; in unrolled LSTMs the number of requests does
// too.
using Extents = std::array<std::size_t, 7>;

std::size_t different_lengths(const PackedWords& side) {
  std::size_t count = 1;
  for (std::size_t t = 1; t < side.batch_sizes.size(); ++t) {
    if (side.batch_sizes[t] < side.batch_sizes[t - 1]) ++count;
  }
  return count;
}

Extents extents_of(const PairBatch& batch) {
  const PackedWords &source = batch.source, &target = batch.target;
  return {batch.size(),
          source.words.size(),
          target.words.size(),
          source.batch_sizes.size(),
          target.batch_sizes.size(),
          different_lengths(source),
          different_lengths(target)};
}

// True if no extent of `one` is smaller than in `other`.
bool covers(const Extents& one, const Extents& other) {
  return std::ranges::equal(one, other, std::greater_equal());
}

double share_above(const LongestBatchFacts& facts) {
  return static_cast<double>(facts.one_plan_bytes) / static_cast<double>(facts.live_bytes) - 1;
}

}  // namespace

std::string longest_batch_text(const LongestBatchFacts& facts) {
  return fmt::format("longest batch: {} alive at once; one plan for all batches {} {:.2f} % more{}",
                     format_bytes(facts.live_bytes), facts.one_plan ? "takes" : "would take",
                     100 * share_above(facts),
                     facts.one_plan ? " and serves them" : ", so each has a plan of its own");
}

Rows<LongestBatchFacts> rows(const LongestBatchFacts*) {
  return {
      {"live_bytes", kBytes, "alive at once in one step, at most", &LongestBatchFacts::live_bytes},
      {"one_plan_bytes", kBytes, "that one plan for all steps takes at least",
       &LongestBatchFacts::one_plan_bytes},
      {"one_plan", "it serves all; otherwise each batch has its own",
       &LongestBatchFacts::one_plan}};
}

std::vector<PairBatch> uncovered_batches(PairLoader& loader, std::int64_t batches) {
  std::vector<PairBatch> found;
  for (std::int64_t batch = 0; batch < std::min(batches, kMostBatches); ++batch) {
    PairBatch next = loader.next();
    const Extents extents = extents_of(next);
    const auto covers_next = [&](const PairBatch& one) { return covers(extents_of(one), extents); };
    if (std::ranges::any_of(found, covers_next)) continue;
    std::erase_if(found, [&](const PairBatch& one) { return covers(extents, extents_of(one)); });
    found.push_back(std::move(next));
  }
  return found;
}

LongestBatches longest_batches(const std::vector<PairBatch>& batches, TranslationDryRun& dry,
                               bool unrolled) {
  LongestBatches longest;
  LongestBatchFacts& facts = longest.facts;
  StepRecording all{.requests = {},
                    .matching = unrolled ? Matching::kByTag : Matching::kByPosition};
  for (std::size_t batch = 0; batch < batches.size(); ++batch) {
    Trace trace = dry.trace({batches[batch]});
    all = joined(std::move(all), requests_of(trace));
    const std::uint64_t live_bytes = lower_bound_bytes(trace, kAlignmentBytes);
    const bool longer =
        live_bytes > std::exchange(facts.live_bytes, std::max(facts.live_bytes, live_bytes));
    if (longer) longest.batch = batch;
    longest.steps.insert(longer ? longest.steps.begin() : longest.steps.end(), std::move(trace));
    if (unrolled) longest.steps.resize(1);  // traces are large, and only the first is adopted
  }
  facts.one_plan_bytes = lower_bound_bytes(canonical_step(all.requests).trace, kAlignmentBytes);
  facts.one_plan = !unrolled && share_above(facts) <= kOnePlanShare;
  if (!facts.one_plan) longest.steps.resize(1);
  return longest;
}

}  // namespace skyline
