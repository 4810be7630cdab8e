#include "memory/adaptors/observing_adaptors.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace skyline {
namespace {

// 0 stands for a block that was not released, since tick 0 is a request.
void end_blocks(Trace& trace, Tick ticks) noexcept {
  for (TraceBlock& block : trace.blocks) {
    if (block.upper == 0) block.upper = ticks;
  }
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
  live_.reserve_one();
  Trace* const trace = in_part() ? &parts_.back().trace : in_step_ ? &trace_ : nullptr;
  if (trace != nullptr) {
    reserve_one(trace->blocks, trace->blocks.size());
    trace->tags.emplace_back(tag);  // now, because copying strings can throw, too
  }
  Extent extent;
  try {
    extent = upstream().acquire(bytes, tag);
  } catch (...) {
    if (trace != nullptr) trace->tags.pop_back();
    throw;
  }
  Live live{.upstream_cookie = extent.cookie};
  if (trace != nullptr) {
    live.step = step_;
    live.request = trace->blocks.size();
    if (in_part()) live.part = parts_.size();
    trace->blocks.push_back({in_part() ? part_ticks_++ : ticks_, 0, bytes});
    if (!in_part()) ++ticks_;
  }
  extent.cookie = live_.insert(live);
  return extent;
}

void RecordingAdaptor::release(const Extent& extent) noexcept {
  const Live live = live_.erase(extent.cookie);
  upstream().release({extent.address, extent.bytes, live.upstream_cookie});
  if (!in_step_ || live.request == kNotRecorded || live.step != step_) return;
  if (live.part != kNotRecorded) {
    if (in_part() && live.part == parts_.size()) {
      parts_.back().trace.blocks[live.request].upper = part_ticks_++;
    }
    return;
  }
  trace_.blocks[live.request].upper = ticks_;
  ++ticks_;
}

void RecordingAdaptor::begin_step(ShapeKey key) {
  upstream().begin_step(key);
  trace_.blocks.clear();
  trace_.tags.clear();
  parts_.clear();
  if (interruptions_ > 0) parts_.emplace_back();
  part_ticks_ = 0;
  ticks_ = 0;
  ++step_;
  in_step_ = true;
}

void RecordingAdaptor::end_step() {
  upstream().end_step();
  in_step_ = false;
  end_blocks(trace_, ticks_);
  std::swap(trace_, last_trace_);
  if (!parts_.empty()) std::swap(parts_, last_parts_);
}

void RecordingAdaptor::abandon_step() {
  upstream().abandon_step();
  in_step_ = false;
}

void RecordingAdaptor::interrupt() {
  if (in_step_ && interruptions_ == 0) {
    parts_.push_back({.at = ticks_});
    part_ticks_ = 0;
  }
  upstream().interrupt();
  ++interruptions_;
}

void RecordingAdaptor::resume() noexcept {
  upstream().resume();
  if (in_part() && interruptions_ == 1) end_blocks(parts_.back().trace, part_ticks_);
  --interruptions_;
}

Extent ShadowAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  live_.reserve_one();
  Extent extent = upstream().acquire(bytes, tag);
  try {
    extent.cookie = live_.insert({extent.cookie, shadow_.acquire(bytes, tag)});
  } catch (...) {
    upstream().release(extent);
    throw;
  }
  return extent;
}

void ShadowAdaptor::release(const Extent& extent) noexcept {
  const Live live = live_.erase(extent.cookie);
  shadow_.release(live.shadow);
  upstream().release({extent.address, extent.bytes, live.upstream_cookie});
}

void ShadowAdaptor::begin_step(ShapeKey key) {
  upstream().begin_step(key);
  shadow_.begin_step(key);
}

void ShadowAdaptor::end_step() {
  upstream().end_step();
  shadow_.end_step();
}

void ShadowAdaptor::abandon_step() {
  upstream().abandon_step();
  shadow_.abandon_step();
}

void ShadowAdaptor::release_cached() noexcept {
  upstream().release_cached();
  shadow_.release_cached();
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
  step_.peak_bytes = bytes_before_ = live_bytes_;
  step_.acquire_ns.clear();
  step_.release_ns.clear();
  in_step_ = true;
}

void StatisticsAdaptor::end_step() {
  upstream().end_step();
  in_step_ = false;
  step_.kept_bytes = live_bytes_ - std::min(live_bytes_, bytes_before_);
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
