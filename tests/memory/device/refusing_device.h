#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "memory/device/device.h"
#include "memory/device/out_of_memory.h"

namespace skyline {

// Test double: refuses calls for bytes from a given call on, until serve_all().
// Counted calls: allocate, reserve, and commits that grow a range.
class RefusingDevice final : public Device {
 public:
  explicit RefusingDevice(Device& upstream) : upstream_(upstream) {}

  void refuse_from(std::uint64_t call) { refuse_from_ = calls_ + call; }
  void serve_all() { refuse_from_ = std::numeric_limits<std::uint64_t>::max(); }
  std::uint64_t refusals() const { return refusals_; }

  std::string_view name() const noexcept override { return "refusing"; }
  bool has_memory() const noexcept override { return upstream_.has_memory(); }
  std::size_t capacity_bytes() const noexcept override { return upstream_.capacity_bytes(); }
  std::byte* allocate(std::size_t bytes) override {
    call(bytes);
    return upstream_.allocate(bytes);
  }
  void deallocate(std::byte* address, std::size_t bytes) noexcept override {
    upstream_.deallocate(address, bytes);
  }
  std::unique_ptr<Range> reserve(std::size_t bytes) override {
    call(bytes);
    return std::make_unique<RefusingRange>(*this, upstream_.reserve(bytes));
  }
  void fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept override {
    upstream_.fill(to, bytes, pattern);
  }
  void read(void* host, const std::byte* from, std::size_t bytes) const noexcept override {
    upstream_.read(host, from, bytes);
  }
  DeviceStatistics statistics() const noexcept override { return upstream_.statistics(); }

 private:
  class RefusingRange final : public Range {
   public:
    RefusingRange(RefusingDevice& device, std::unique_ptr<Range> range)
        : device_(device), range_(std::move(range)) {}
    std::byte* base() const noexcept override { return range_->base(); }
    std::size_t reserved_bytes() const noexcept override { return range_->reserved_bytes(); }
    std::size_t committed_bytes() const noexcept override { return range_->committed_bytes(); }
    void commit(std::size_t bytes) override {
      if (bytes > range_->committed_bytes()) device_.call(bytes);
      range_->commit(bytes);
    }

   private:
    RefusingDevice& device_;
    std::unique_ptr<Range> range_;
  };

  void call(std::size_t bytes) {
    if (calls_++ < refuse_from_) return;
    ++refusals_;
    OutOfMemoryFacts facts;
    facts.where = "refusing";
    facts.shortage = Shortage::kInjected;
    facts.requested_bytes = bytes;
    throw OutOfMemory(std::move(facts));
  }

  Device& upstream_;
  std::uint64_t calls_ = 0;
  std::uint64_t refusals_ = 0;
  std::uint64_t refuse_from_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace skyline
