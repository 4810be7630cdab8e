#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "memory/device/simulated_device.h"
#include "memory/replay/event_replay.h"

namespace skyline {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Takes every request from the device, which refuses large ones: a minimal allocator to test what
// surrounds allocators.
class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(Device& device) : device_(device) {}
  Extent acquire(std::size_t bytes, const Tag&) override {
    return {device_.allocate(taken(bytes)), bytes, 0};
  }
  void release(const Extent& extent) noexcept override {
    device_.deallocate(extent.address, taken(extent.bytes));
  }
  Statistics statistics() const override { return {}; }

 private:
  static std::size_t taken(std::size_t bytes) { return bytes == 0 ? 1 : bytes; }
  Device& device_;
};

struct PlainEvent {
  AllocationEvent::Kind kind;
  std::string id;
  std::uint64_t bytes;
  BlockTag tag;
  std::string stream;
  std::string pool = {};
  bool operator==(const PlainEvent&) const = default;
};

inline std::vector<PlainEvent> all_events(EventReader& reader) {
  std::vector<PlainEvent> events;
  for (AllocationEvent event; reader.next(event);) {
    events.push_back({event.kind,
                      std::string(event.id),
                      event.bytes,
                      {std::string(event.tag.op), std::string(event.tag.layer), event.tag.phase,
                       event.tag.category},
                      std::string(event.stream),
                      std::string(event.pool)});
  }
  return events;
}

// Bytes of each served request, and of each free as a negative number, in order.
class ServedBytes final : public ReplayObserver {
 public:
  void allocated(const LiveEvents&, const Extent& extent) override {
    bytes.push_back(static_cast<std::int64_t>(extent.bytes));
  }
  void freed(const LiveEvents&, const Extent& extent) override {
    bytes.push_back(-static_cast<std::int64_t>(extent.bytes));
  }
  std::vector<std::int64_t> bytes;
};

// Replays the events on the device and returns what was served.
inline std::vector<std::int64_t> served(EventReader& reader, Device& device,
                                        std::vector<ReplayObserver*> observers = {}) {
  DeviceAllocator allocator(device);
  ServedBytes served_bytes;
  observers.push_back(&served_bytes);
  EventReplay replay("device", allocator, device, observers);
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  return served_bytes.bytes;
}

constexpr std::size_t kFuzzCapacityBytes = std::size_t{1} << 40;

}  // namespace skyline
