#include "train/run/step_shares.h"

#include <cstring>
#include <string>

#include "framework/ranks/rank_group.h"

namespace skyline {

std::vector<float> StepShares::from_all_ranks(float own) const {
  if (!group) return std::vector<float>(place.ranks, own);
  std::vector<float> values;
  for (const std::string& bytes :
       group->gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    std::memcpy(&values.emplace_back(), bytes.data(), sizeof own);
  }
  return values;
}

StepShares StepShares::in_dry_run() const {
  StepShares shares = *this;
  shares.place.rank = 0;
  shares.group = nullptr;
  return shares;
}

}  // namespace skyline
