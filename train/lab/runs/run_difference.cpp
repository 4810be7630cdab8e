#include "train/lab/runs/run_difference.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace skyline {
namespace {

// What names a block in both runs.
using BlockName = std::tuple<std::string, std::string, Phase, Category, std::size_t>;

// The names of a run's blocks, in its order.
std::vector<BlockName> names_of(const Trace& trace) {
  std::vector<BlockName> names;
  std::map<BlockName, std::size_t> counts;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const BlockTag tag = trace.tags.empty() ? BlockTag{} : trace.tags[i];
    BlockName name{tag.op, tag.layer, tag.phase, tag.category, 0};
    const std::size_t number = ++counts[name];
    std::get<4>(name) = number;
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<BlockPair> pairs_of(const std::vector<BlockName>& first,
                                const std::vector<BlockName>& second) {
  std::map<BlockName, std::size_t> places;
  for (std::size_t i = 0; i < second.size(); ++i) places[second[i]] = i;
  std::vector<BlockPair> pairs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto place = places.find(first[i]);
    if (place != places.end()) pairs.push_back({i, place->second});
  }
  return pairs;
}

// Tells the facts of a run's blocks.
class Facts {
 public:
  Facts(const Trace& trace, const std::vector<BlockPair>& pairs, std::size_t BlockPair::*side)
      : trace_(trace) {
    for (const BlockPair& pair : pairs) common_.push_back(trace.blocks[pair.*side].lower);
    std::ranges::sort(common_);
  }
  BlockFacts of(std::size_t block) const {
    const auto& [lower, upper, bytes] = trace_.blocks[block];
    return {bytes, before(upper) - before(lower)};
  }

 private:
  std::size_t before(Tick tick) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(common_, tick) - common_.begin());
  }
  const Trace& trace_;
  std::vector<Tick> common_;  // when the common blocks are requested, ascending
};

// Returns the pairs outside of the longest ascending sequence.
std::size_t reordered(const std::vector<BlockPair>& pairs) {
  std::vector<std::size_t> ends;  // the least end of an ascending sequence of each length
  for (const BlockPair& pair : pairs) {
    const auto place = std::ranges::lower_bound(ends, pair.second);
    if (place == ends.end()) {
      ends.push_back(pair.second);
    } else {
      *place = pair.second;
    }
  }
  return pairs.size() - ends.size();
}

std::vector<SettingChange> changed_settings(const StoredRun& first, const StoredRun& second) {
  std::map<std::string, SettingChange> all;
  for (const auto& [name, value] : first.settings) all[name].first = value;
  for (const auto& [name, value] : second.settings) all[name].second = value;
  std::vector<SettingChange> changes;
  for (auto& [name, change] : all) {
    change.name = name;
    if (change.first != change.second) changes.push_back(std::move(change));
  }
  return changes;
}

// Collects the blocks that differ.
void add_blocks(RunDifference& difference) {
  const auto first = names_of(difference.first.trace), second = names_of(difference.second.trace);
  difference.pairs = pairs_of(first, second);
  const Facts of_first(difference.first.trace, difference.pairs, &BlockPair::first);
  const Facts of_second(difference.second.trace, difference.pairs, &BlockPair::second);
  std::map<BlockName, std::pair<std::optional<BlockFacts>, std::optional<BlockFacts>>> facts;
  for (std::size_t i = 0; i < first.size(); ++i) facts[first[i]].first = of_first.of(i);
  for (std::size_t i = 0; i < second.size(); ++i) facts[second[i]].second = of_second.of(i);
  for (BlockPair& pair : difference.pairs) {
    pair.changed = of_first.of(pair.first) != of_second.of(pair.second);
  }
  for (const auto& [name, sides] : facts) {
    if (sides.first == sides.second) continue;
    const auto& [op, layer, phase, category, number] = name;
    const bool more = number > 1 || facts.contains({op, layer, phase, category, 2});
    difference.blocks.push_back(
        {{op, layer, phase, category}, number, more, sides.first, sides.second});
  }
  std::ranges::stable_sort(difference.blocks, std::greater(), &BlockChange::bytes);
}

}  // namespace

std::uint64_t BlockChange::bytes() const {
  return std::max(first.value_or(BlockFacts{}).bytes, second.value_or(BlockFacts{}).bytes);
}

RunDifference compare_runs(StoredRun first, StoredRun second) {
  RunDifference difference{.first = std::move(first), .second = std::move(second)};
  difference.settings = changed_settings(difference.first, difference.second);
  add_blocks(difference);
  difference.reordered = reordered(difference.pairs);
  return difference;
}

}  // namespace skyline
