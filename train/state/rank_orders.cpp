#include "train/state/rank_orders.h"

#include <cstring>
#include <string>

#include "train/run/now_seconds.h"

namespace skyline {

BusySeconds::BusySeconds(const RankGroup& group)
    : group_(group), began_(now_seconds()), waited_before_(waited()) {}

double BusySeconds::waited() const {
  const RankGroup::Seconds seconds = group_.seconds();
  return seconds.waiting + seconds.gathering;
}

double BusySeconds::so_far() const { return now_seconds() - began_ - (waited() - waited_before_); }

std::vector<RankOrder> exchange(RankGroup& group, const RankOrder& own) {
  std::vector<RankOrder> orders;
  for (const std::string& bytes : group.gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    std::memcpy(&orders.emplace_back(), bytes.data(), sizeof own);
  }
  return orders;
}

}  // namespace skyline
