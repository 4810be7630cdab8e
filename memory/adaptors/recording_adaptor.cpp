#include "memory/adaptors/recording_adaptor.h"

#include <utility>

namespace skyline {
namespace {

template <typename T>
void reserve_ahead(std::vector<T>& values, std::size_t size) {
  if (values.capacity() < size) values.reserve(2 * size);
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

}  // namespace skyline
