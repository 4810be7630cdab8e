#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/device.h"

namespace skyline {

// An allocator under test with its upstreams; the suite drives the last link.
class Chain {
 public:
  Chain() = default;
  Chain(Chain&&) = default;
  ~Chain() {
    while (!links_.empty()) links_.pop_back();  // adaptors before their upstreams
  }

  template <typename T, typename... Arguments>
  T& add(Arguments&&... arguments) {
    auto link = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T& added = *link;
    links_.push_back(std::move(link));
    return added;
  }
  void add(std::unique_ptr<Allocator> link) { links_.push_back(std::move(link)); }
  Allocator& top() { return *links_.back(); }

 private:
  std::vector<std::unique_ptr<Allocator>> links_;
};

// The table of the conformance suite: each row runs every test of conformance_test.cpp. To add an
// allocator or adaptor, write a function in conformance_allocators.cpp that builds its chain on the
// given device, and a row with its name (letters and digits only).
struct ConformanceRow {
  const char* name;
  Chain (*make)(Device& device);
  std::size_t unit_bytes = kAlignmentBytes;  // requests are rounded, addresses aligned to this
  bool null_for_zero = false;                // requests for 0 bytes get the null address
};
inline void PrintTo(const ConformanceRow& row, std::ostream* out) { *out << row.name; }

std::span<const ConformanceRow> conformance_rows();

}  // namespace skyline
