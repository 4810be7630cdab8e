#include "train/run/step_shares.h"

#include "framework/ranks/rank_group.h"
#include "train/run/evaluation.h"

namespace skyline {

std::vector<float> StepShares::from_all_ranks(float own) const {
  if (!group) return std::vector<float>(place.ranks, own);
  std::vector<float> values;
  for (const std::string& bytes : group->gather(bytes_of(own))) {
    values.push_back(from_bytes<float>(bytes));
  }
  return values;
}

StepShares StepShares::in_dry_run() const {
  StepShares shares = *this;
  shares.place.rank = 0;
  shares.group = nullptr;
  return shares;
}

void for_each_batch(const StepShares& shares, std::size_t batches, const BatchResult& compute,
                    const BatchTaker& take) {
  if (!shares.group) {
    for (std::size_t batch = 0; batch < batches; ++batch) take(batch, compute(batch));
    return;
  }
  bool stops = false;
  for (std::size_t first = 0; first < batches; first += shares.place.ranks) {
    const std::size_t own = first + shares.place.rank;
    std::string result = own < batches && !stops ? compute(own) : "";
    result.push_back(stops ? 's' : ' ');
    std::vector<std::string> results = shares.group->gather(std::move(result));
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      if (results[rank].back() == 's') throw EvaluationStopped();
      results[rank].pop_back();
    }
    try {
      for (std::size_t i = 0; i < results.size() && first + i < batches; ++i) {
        take(first + i, results[i]);
      }
    } catch (const EvaluationStopped&) {
      stops = true;
    }
  }
  if (stops) throw EvaluationStopped();
}

}  // namespace skyline
