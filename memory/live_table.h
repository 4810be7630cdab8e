#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace skyline {

// Stores an entry for each live block; its index is the block's cookie. Only reserve_one()
// allocates: an adaptor that calls it before its upstream cannot lose a block.
template <typename Entry>
class LiveTable {
 public:
  struct Row {
    Entry entry;
    bool live = false;
  };

  // Makes room for one insert. Throws std::bad_alloc.
  void reserve_one() {
    if (!unused_.empty()) return;
    rows_.emplace_back();
    unused_.reserve(rows_.capacity());
    unused_.push_back(rows_.size() - 1);
  }

  // After reserve_one(). O(1).
  std::uint64_t insert(Entry entry) noexcept {
    const std::size_t index = unused_.back();
    unused_.pop_back();
    rows_[index] = {std::move(entry), true};
    return index;
  }

  Entry erase(std::uint64_t index) noexcept {
    unused_.push_back(index);  // within the capacity that reserve_one() made
    rows_[index].live = false;
    return std::move(rows_[index].entry);
  }

  const std::vector<Row>& rows() const noexcept { return rows_; }

 private:
  std::vector<Row> rows_;
  std::vector<std::size_t> unused_;
};

}  // namespace skyline
