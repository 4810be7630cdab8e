#include "memory/formats/csv/trace_csv_ids.h"

#include <functional>

namespace skyline {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

bool SeenIds::insert_last(const std::vector<std::string>& ids) {
  if (2 * (count_ + 1) > slots_.size()) grow(ids);
  return insert(ids, ids.size() - 1);
}

bool SeenIds::insert(const std::vector<std::string>& ids, std::size_t position) {
  const std::uint64_t hash = std::hash<std::string>{}(ids[position]);
  const Slot slot = slot_for(hash, position);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const bool alike = (slots_[at] ^ slot) >> 32 == 0;
    if (alike && ids[(slots_[at] & 0xffffffff) - 1] == ids[position]) return false;
  }
  slots_[at] = slot;
  ++count_;
  return true;
}

void SeenIds::grow(const std::vector<std::string>& ids) {
  const std::size_t noted = count_;
  slots_.assign(slots_.empty() ? kFirstSlots : 2 * slots_.size(), 0);
  count_ = 0;
  for (std::size_t i = 0; i < noted; ++i) insert(ids, i);
}

}  // namespace skyline
