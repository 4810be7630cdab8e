#include "memory/replay/observed_device.h"

#include <utility>

namespace skyline {

class ObservedDevice::ObservedRange final : public Range {
 public:
  ObservedRange(ObservedDevice& device, std::unique_ptr<Range> upstream) noexcept
      : device_(device), upstream_(std::move(upstream)) {}
  ~ObservedRange() override {
    note_change(upstream_->committed_bytes(), 0);
    --device_.alive_;
  }
  ObservedRange(const ObservedRange&) = delete;
  ObservedRange& operator=(const ObservedRange&) = delete;

  std::byte* base() const noexcept override { return upstream_->base(); }
  std::size_t reserved_bytes() const noexcept override { return upstream_->reserved_bytes(); }
  std::size_t committed_bytes() const noexcept override { return upstream_->committed_bytes(); }

  void commit(std::size_t bytes) override {
    device_.make_room();
    const std::size_t before = upstream_->committed_bytes();
    upstream_->commit(bytes);
    note_change(before, upstream_->committed_bytes());
  }

 private:
  void note_change(std::size_t before, std::size_t after) noexcept {
    const auto base = reinterpret_cast<std::uint64_t>(upstream_->base());
    if (after > before) {
      device_.note({SegmentChange::Kind::kMapped, base + before, after - before});
    } else if (after < before) {
      device_.note({SegmentChange::Kind::kUnmapped, base + after, before - after});
    }
  }

  ObservedDevice& device_;
  std::unique_ptr<Range> upstream_;
};

// One more change can come at once, and one more for each that is alive without another call of
// make_room().
void ObservedDevice::make_room() {
  const std::size_t needed = changes_.size() + alive_ + 2;
  if (changes_.capacity() < needed) changes_.reserve(2 * needed);
}

void ObservedDevice::note(SegmentChange change) noexcept { changes_.push_back(change); }

std::byte* ObservedDevice::allocate(std::size_t bytes) {
  make_room();
  std::byte* address = upstream_.allocate(bytes);
  ++alive_;
  note({SegmentChange::Kind::kAllocated, reinterpret_cast<std::uint64_t>(address), bytes});
  return address;
}

void ObservedDevice::deallocate(std::byte* address, std::size_t bytes) noexcept {
  upstream_.deallocate(address, bytes);
  --alive_;
  note({SegmentChange::Kind::kFreed, reinterpret_cast<std::uint64_t>(address), bytes});
}

std::unique_ptr<Range> ObservedDevice::reserve(std::size_t bytes) {
  make_room();
  auto range = std::make_unique<ObservedRange>(*this, upstream_.reserve(bytes));
  ++alive_;
  return range;
}

// The list keeps its room.
std::vector<SegmentChange> ObservedDevice::take_changes() {
  std::vector<SegmentChange> taken(changes_);
  changes_.clear();
  return taken;
}

}  // namespace skyline
