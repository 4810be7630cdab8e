#include "tests/memory/conformance_allocators.h"

#include <limits>

#include "memory/adaptors/checking_adaptor.h"
#include "memory/adaptors/failing_adaptor.h"
#include "memory/adaptors/guard_adaptor.h"
#include "memory/adaptors/limit_adaptor.h"
#include "memory/adaptors/recording_adaptor.h"
#include "memory/adaptors/statistics_adaptor.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/allocators/network_wise.h"

namespace skyline {
namespace {

template <typename T>
Chain plain(Device& device) {
  Chain chain;
  chain.add<T>(device);
  return chain;
}

template <typename Base>
Chain guarded(Device& device) {
  Chain chain;
  auto& base = chain.add<Base>(device);
  chain.add<GuardAdaptor>(base, device.has_memory());
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

Chain pool_with_curve(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  chain.add<RecordingAdaptor>(pool, RecordingAdaptor::Curve::kOn);
  return chain;
}

Chain everything_on_the_pool(Device& device) {
  Chain chain;
  auto& pool = chain.add<BestFitPool>(device);
  auto& recording = chain.add<RecordingAdaptor>(pool);
  auto& guard = chain.add<GuardAdaptor>(recording, device.has_memory());
  auto& checking = chain.add<CheckingAdaptor>(guard);
  auto& statistics = chain.add<StatisticsAdaptor>(checking);
  auto& failing = chain.add<FailingAdaptor>(statistics);
  chain.add<LimitAdaptor>(failing, device.capacity_bytes());
  return chain;
}

constexpr ConformanceRow kRows[] = {
    {"BestFitPool", plain<BestFitPool>},
    {"NetworkWise", plain<NetworkWise>},
    {"Statistics", adapted_pool<StatisticsAdaptor>},
    {"StatisticsTimed", timed_pool},
    {"Limit", limited_pool},
    {"Recording", adapted_pool<RecordingAdaptor>},
    {"RecordingWithCurve", pool_with_curve},
    {"GuardOnPool", guarded<BestFitPool>},
    {"GuardOnNetworkWise", guarded<NetworkWise>},
    {"Failing", adapted_pool<FailingAdaptor>},
    {"Checking", adapted_pool<CheckingAdaptor>},
    {"AllAdaptors", everything_on_the_pool},
};

}  // namespace

std::span<const ConformanceRow> conformance_rows() { return kRows; }

}  // namespace skyline
