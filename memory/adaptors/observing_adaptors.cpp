#include "memory/adaptors/observing_adaptors.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace skyline {
namespace {

template <typename T>
void reserve_ahead(std::vector<T>& values, std::size_t size) {
  if (values.capacity() < size) values.reserve(2 * size);
}

using Clock = std::chrono::steady_clock;

std::uint32_t nanoseconds_since(Clock::time_point start) noexcept {
  const auto ns = std::chrono::nanoseconds(Clock::now() - start).count();
  constexpr auto kMost = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  return static_cast<std::uint32_t>(std::clamp(std::int64_t{ns}, std::int64_t{0}, kMost));
}

// Makes room for one more element, so that the push_back after the call cannot throw.
template <typename T>
void reserve_one(std::vector<T>& values, std::size_t size) {
  if (values.capacity() <= size) values.reserve(2 * size + 16);
}

}  // namespace

Extent RecordingAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  const bool record = recording();
  live_.reserve_one();
  if (record) reserve_request(tag);
  Extent extent;
  try {
    extent = upstream().acquire(bytes, tag);
  } catch (...) {
    if (record) trace_.tags.pop_back();
    throw;
  }
  Live live{.upstream_cookie = extent.cookie};
  if (record) {
    live.step = step_;
    live.request = trace_.blocks.size();
    trace_.blocks.push_back({.lower = ticks_, .upper = 0, .bytes = bytes});
    tick();
  }
  extent.cookie = live_.insert(live);
  return extent;
}

void RecordingAdaptor::release(const Extent& extent) noexcept {
  const Live live = live_.erase(extent.cookie);
  upstream().release({extent.address, extent.bytes, live.upstream_cookie});
  if (!in_step_ || live.request == kNotRecorded || live.step != step_) return;
  trace_.blocks[live.request].upper = ticks_;
  tick();
}

void RecordingAdaptor::begin_step(ShapeKey key) {
  upstream().begin_step(key);
  trace_.blocks.clear();
  trace_.tags.clear();
  curve_.clear();
  key_ = key;
  ticks_ = 0;
  ++step_;
  in_step_ = true;
}

void RecordingAdaptor::end_step() {
  upstream().end_step();
  in_step_ = false;
  for (TraceBlock& block : trace_.blocks) {
    if (block.upper == 0) block.upper = ticks_;  // 0: not released, since tick 0 is a request
  }
  std::swap(trace_, last_trace_);
  std::swap(curve_, last_curve_);
  last_key_ = key_;
}

void RecordingAdaptor::abandon_step() {
  upstream().abandon_step();
  in_step_ = false;
}

void RecordingAdaptor::interrupt() {
  upstream().interrupt();
  ++interruptions_;
}

void RecordingAdaptor::resume() noexcept {
  upstream().resume();
  --interruptions_;
}

// Makes room for a request and, on the curve, its release, so that nothing throws after upstream's
// call. Copies the tag here because copying strings can throw, too.
void RecordingAdaptor::reserve_request(const Tag& tag) {
  const std::size_t requests = trace_.blocks.size() + 1;
  reserve_ahead(trace_.blocks, requests);
  if (with_curve_) reserve_ahead(curve_, 2 * requests);
  trace_.tags.emplace_back(tag);
}

void RecordingAdaptor::tick() noexcept {
  if (with_curve_) {
    const Statistics now = upstream().statistics();
    curve_.push_back({ticks_, now.requested_bytes, now.reserved_bytes});
  }
  ++ticks_;
}

std::optional<double> median_ns(std::vector<std::uint32_t> times_ns) {
  if (times_ns.empty()) return {};
  const auto middle = times_ns.begin() + static_cast<std::ptrdiff_t>(times_ns.size() / 2);
  std::nth_element(times_ns.begin(), middle, times_ns.end());
  if (times_ns.size() % 2 == 1) return *middle;
  return (static_cast<double>(*middle) + *std::max_element(times_ns.begin(), middle)) / 2;
}

Extent StatisticsAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  live_.reserve_one();
  const bool timed = timed_ && in_step_;
  if (timed) {
    reserve_one(step_.acquire_ns, step_.acquire_ns.size());
    // Every release follows a request, so this is enough room for it, too.
    reserve_one(step_.release_ns, step_.release_ns.size() + live_.rows().size());
  }
  const auto start = timed ? Clock::now() : Clock::time_point();
  Extent extent = upstream().acquire(bytes, tag);
  if (timed) step_.acquire_ns.push_back(nanoseconds_since(start));
  ++step_.requests;
  CategoryUse& use = use_[static_cast<std::size_t>(tag.category)];
  use.bytes += bytes;
  use.peak_bytes = std::max(use.peak_bytes, use.bytes);
  live_bytes_ += bytes;
  step_.peak_bytes = std::max(step_.peak_bytes, live_bytes_);
  extent.cookie = live_.insert({.upstream_cookie = extent.cookie, .category = tag.category});
  return extent;
}

void StatisticsAdaptor::release(const Extent& extent) noexcept {
  const Live live = live_.erase(extent.cookie);
  use_[static_cast<std::size_t>(live.category)].bytes -= extent.bytes;
  live_bytes_ -= extent.bytes;
  const bool timed = timed_ && in_step_;
  const auto start = timed ? Clock::now() : Clock::time_point();
  upstream().release({extent.address, extent.bytes, live.upstream_cookie});
  if (timed) step_.release_ns.push_back(nanoseconds_since(start));
  ++step_.releases;
}

void StatisticsAdaptor::begin_step(ShapeKey key) {
  if (timed_) reserve_one(step_.release_ns, live_.rows().size());
  upstream().begin_step(key);
  step_.requests = step_.releases = 0;
  step_.peak_bytes = live_bytes_;
  step_.acquire_ns.clear();
  step_.release_ns.clear();
  in_step_ = true;
}

void StatisticsAdaptor::end_step() {
  upstream().end_step();
  in_step_ = false;
  std::swap(step_, last_step_);
}

void StatisticsAdaptor::abandon_step() {
  upstream().abandon_step();
  in_step_ = false;
}

const CategoryUse& StatisticsAdaptor::use(Category category) const noexcept {
  return use_[static_cast<std::size_t>(category)];
}

}  // namespace skyline
