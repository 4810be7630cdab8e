#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline {

using SnapshotPool = std::optional<std::pair<std::int64_t, std::int64_t>>;
// The optional members of an entry: it always has an action, an address and a size.
struct SnapshotEntry {
  std::optional<std::int64_t> stream = {};
  SnapshotPool pool = {};
  std::string frames = {};
};

// Builds a memory snapshot as a pickle of protocol 2. Keys of values that are not given are absent.
class SnapshotText {
 public:
  using Pool = SnapshotPool;
  using MoreOfEntry = SnapshotEntry;
  // A segment that holds one block of 512 bytes.
  struct SegmentOf {
    std::int64_t device;
    std::uint64_t address;
    std::string_view state;
    std::optional<std::int64_t> stream = {};
    Pool pool = {};
  };

  SnapshotText& begin(const std::vector<SegmentOf>& segments = {}) {
    std::string all;
    for (const SegmentOf& each : segments) all += segment(each);
    text_ = "\x80\x02}(" + text("segments") + list(all) + text("device_traces") + "](](";
    return *this;
  }
  // A number of either sign, pickled.
  struct Number {
    std::string text;
    template <typename T>
    Number(T value)  // NOLINT: a number of any type
        : text(integer(value)) {}
  };
  SnapshotText& entry(std::string_view action, const Number& address, const Number& bytes,
                      const MoreOfEntry& more = {}) {
    std::string pairs = text("action") + text(action) + text("addr") + address.text + text("size") +
                        bytes.text + placed("pool_id", more.stream, more.pool);
    if (!more.frames.empty()) pairs += text("frames") + more.frames;
    text_ += dict(pairs);
    return *this;
  }
  // Names the last entry again.
  void again() { text_ += "q\x01h\x01"; }
  SnapshotText& next_device() {
    text_ += "e](";
    return *this;
  }
  // Adds a setting of the allocator; `value` is a pickled one.
  SnapshotText& settings(std::string_view key, const std::string& value) {
    settings_ += text(key) + value;
    return *this;
  }
  std::string end() const {
    return text_ + "ee" + (settings_.empty() ? "" : text("allocator_settings") + dict(settings_)) +
           "u.";
  }

  // --- pickled values ---

  static std::string text(std::string_view value) {
    return "X" + little_endian(value.size(), 4) + std::string(value);
  }
  static std::string integer(std::int64_t value) {
    return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(value), 8);
  }
  static std::string integer(std::uint64_t value) {
    const bool above = value >> 63 != 0;
    return (above ? "\x8a\x09" : "\x8a\x08") + little_endian(value, 8) +
           std::string(above ? 1 : 0, '\0');
  }
  static std::string integer(int value) { return integer(std::int64_t{value}); }
  static std::string real(double value) {
    const std::string digits = little_endian(std::bit_cast<std::uint64_t>(value), 8);
    return "G" + std::string(digits.rbegin(), digits.rend());
  }
  static std::string list(const std::string& items) { return "](" + items + "e"; }
  static std::string dict(const std::string& pairs) { return "}(" + pairs + "u"; }
  static std::string segment(const SegmentOf& segment) {
    return dict(text("device") + integer(segment.device) + text("address") +
                integer(segment.address) + placed("segment_pool_id", segment.stream, segment.pool) +
                text("blocks") +
                list(dict(text("size") + integer(512) + text("state") + text(segment.state))));
  }

 private:
  static std::string little_endian(std::uint64_t value, int bytes) {
    std::string digits;
    for (int i = 0; i < bytes; ++i) digits += static_cast<char>(value >> 8 * i);
    return digits;
  }
  static std::string placed(std::string_view pool_key, const std::optional<std::int64_t>& stream,
                            const Pool& pool) {
    std::string pairs = stream ? text("stream") + integer(*stream) : "";
    if (pool) {
      pairs += text(pool_key) + integer(pool->first) + integer(pool->second) + "\x86";
    }
    return pairs;
  }

  std::string text_, settings_;
};

}  // namespace skyline
