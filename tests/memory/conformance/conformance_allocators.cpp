#include "tests/memory/conformance/conformance_allocators.h"

#include <limits>

#include "memory/adaptors/adaptor.h"
#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/allocators/bfc_allocator.h"
#include "memory/allocators/caching_allocator.h"
#include "memory/allocators/exact_pool.h"
#include "memory/allocators/network_wise.h"
#include "memory/allocators/stitched_allocator.h"
#include "memory/planners/registry.h"
#include "memory/session/arena.h"
#include "memory/session/session.h"
#include "tests/memory/adaptors/failing_adaptor.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

template <typename T>
Chain plain(Device& device) {
  Chain chain;
  chain.add<T>(device);
  return chain;
}

template <CachingOptions (*options)()>
Chain caching(Device& device) {
  Chain chain;
  chain.add<CachingAllocator>(device, options());
  return chain;
}

CachingOptions with_max_split() { return {.max_split_bytes = 24 * kMiB}; }
CachingOptions with_collection() { return {.garbage_collection_threshold = 0.3}; }
CachingOptions with_expandable_segments() { return {.expandable_segments = true}; }
CachingOptions with_divisions() { return {.roundup_power2_divisions = 4}; }

template <bool growth>
Chain bfc(Device& device) {
  Chain chain;
  chain.add<BfcAllocator>(device, BfcOptions{.growth = growth});
  return chain;
}

template <std::size_t page_bytes>
Chain stitched(Device& device) {
  Chain chain;
  chain.add<StitchedAllocator>(device, StitchedOptions{.page_bytes = page_bytes});
  return chain;
}

Chain limited_bfc(Device& device) {
  Chain chain;
  chain.add<BfcAllocator>(device, BfcOptions{.limit_bytes = device.capacity_bytes() - 1000});
  return chain;
}

template <typename Base>
Chain guarded(Device& device) {
  Chain chain;
  auto& base = chain.add<Base>(device);
  chain.add<GuardAdaptor>(base, device);
  return chain;
}

template <typename AdaptorT>
Chain adapted_pool(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  chain.add<AdaptorT>(pool);
  return chain;
}

Chain limited_pool(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  chain.add<LimitAdaptor>(pool, std::numeric_limits<std::size_t>::max());
  return chain;
}

Chain timed_pool(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  chain.add<StatisticsAdaptor>(pool, StatisticsAdaptor::Timing::kOn);
  return chain;
}

Chain everything_on_the_pool(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  auto& recording = chain.add<RecordingAdaptor>(pool);
  auto& guard = chain.add<GuardAdaptor>(recording, device);
  auto& checking = chain.add<CheckingAdaptor>(guard);
  auto& statistics = chain.add<StatisticsAdaptor>(checking);
  auto& failing = chain.add<FailingAdaptor>(statistics);
  chain.add<LimitAdaptor>(failing, device.capacity_bytes());
  return chain;
}

// Has the plan of another program, so that the suite deviates all the time.
Chain arena_with_a_plan(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  auto& fallback = chain.add<BestFitPool>(device);
  auto& arena = chain.add<Arena>(device, pool, fallback, device.capacity_bytes());
  const CanonicalStep step = canonical_step({{.bytes = 3000, .needed_until = 2},
                                             {.bytes = 70000, .needed_until = 3},
                                             {.bytes = 2000, .needed_until = 3},
                                             {.bytes = 500}});
  const Plan made = plan(step.trace, "best-fit");
  arena.commit(made.peak);
  arena.install(std::make_shared<const StepLayout>(make_layout(step, made)));
  return chain;
}

Chain checked_session(Device& device) {
  Chain chain;
  auto& session = chain.add<Session>(device, SessionOptions{});
  chain.add<CheckingAdaptor>(session);
  return chain;
}

Chain session_a_shape(Device& device) {
  Chain chain;
  chain.add<Session>(device, SessionOptions{.policy = ShapePolicy::kPerShape, .max_shapes = 2});
  return chain;
}

constexpr ConformanceRow kRows[] = {
    {"BestFitPool", plain<BestFitPool>},
    {"NetworkWise", plain<NetworkWise>},
    {"ExactPool", plain<ExactPool>, ExactPool::kUnitBytes},
    {"Caching", plain<CachingAllocator>, kAlignmentBytes, true},
    {"CachingMaxSplit", caching<with_max_split>, kAlignmentBytes, true},
    {"CachingCollecting", caching<with_collection>, kAlignmentBytes, true},
    {"CachingExpandable", caching<with_expandable_segments>, kAlignmentBytes, true},
    {"CachingDivisions", caching<with_divisions>, kAlignmentBytes, true},
    {"Bfc", bfc<true>, BfcAllocator::kUnitBytes, true},
    {"BfcWithoutGrowth", bfc<false>, BfcAllocator::kUnitBytes, true},
    {"BfcLimited", limited_bfc, BfcAllocator::kUnitBytes, true},
    {"Stitched", plain<StitchedAllocator>},
    {"StitchedMiddlePages", stitched<std::size_t{64} << 10>},
    {"Statistics", adapted_pool<StatisticsAdaptor>},
    {"StatisticsTimed", timed_pool},
    {"Limit", limited_pool},
    {"Recording", adapted_pool<RecordingAdaptor>},
    {"GuardOnPool", guarded<BestFitPool>},
    {"GuardOnNetworkWise", guarded<NetworkWise>},
    {"Failing", adapted_pool<FailingAdaptor>},
    {"Checking", adapted_pool<CheckingAdaptor>},
    {"AllAdaptors", everything_on_the_pool},
    {"Arena", arena_with_a_plan},
    {"Planned", plain<Session>},
    {"PlannedChecked", checked_session},
    {"PlannedPerShape", session_a_shape},
    {"GuardOnPlanned", guarded<Session>},
};

}  // namespace

std::span<const ConformanceRow> conformance_rows() { return kRows; }

}  // namespace skyline
