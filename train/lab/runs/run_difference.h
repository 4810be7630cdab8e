#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory/plan.h"
#include "memory/tag.h"
#include "train/cli/figures.h"

namespace skyline {

// What the folder of a run says about its memory and time.
struct StoredRun {
  std::filesystem::path folder;                 // as given
  std::map<std::string, std::string> settings;  // its arguments by key, values as in JSON
  Trace trace;                                  // of the step that the run recorded
  Plan plan;                                    // of that step
  std::optional<std::uint64_t> resident_bytes;  // unknown without graph.json

  // From its log; resident bytes included.
  std::int64_t steps = 0;
  std::optional<std::uint64_t> most_reserved_bytes, last_reserved_bytes;  // after a step
  std::optional<double> step_seconds_median;                              // without warm-up

  const std::string& setting(const std::string& key) const;  // "" if there is none
  std::uint64_t requested_bytes() const;  // the most at one tick, as the program asked
};

// Reads a run's folder. Skips damaged lines of its log. Throws UsageError, which names the folder,
// if it holds no run or the run recorded no step.
StoredRun load_run(const std::filesystem::path& folder);

struct BlockFacts {
  std::uint64_t bytes = 0;   // as requested
  std::size_t lifetime = 0;  // requests that both runs make while the block lives
  bool operator==(const BlockFacts&) const = default;
};

// A block that only one run has, or that differs.
struct BlockChange {
  BlockTag tag;
  std::size_t number = 0;                   // of the requests with this tag, from 1
  bool one_of_many = false;                 // a run has several requests with this tag
  std::optional<BlockFacts> first, second;  // nothing: the run has no such block

  std::uint64_t bytes() const;  // the larger of both
};

// A block that both runs have, by its index in each trace.
struct BlockPair {
  std::size_t first = 0, second = 0;
  bool changed = false;
};

struct SettingChange {
  std::string name, first, second;  // "": this run has no such setting
};

// Two runs and what differs between them.
struct RunDifference {
  StoredRun first, second;
  std::vector<SettingChange> settings;  // by name
  std::vector<BlockChange> blocks;      // the largest first
  std::vector<BlockPair> pairs;         // in the first run's order
  std::size_t reordered = 0;  // the fewest common blocks to move so that both orders are the same

  // How many blocks only the first run has, only the second has, and both have but differ.
  std::size_t only_first() const { return first.trace.size() - pairs.size(); }
  std::size_t only_second() const { return second.trace.size() - pairs.size(); }
  std::size_t changed() const { return blocks.size() - only_first() - only_second(); }
  bool same_blocks() const { return blocks.empty() && reordered == 0; }
};

// Two blocks are the same if op, layer, phase and category are, and if both are the k-th such
// request of their run. A lifetime is counted in the requests that both runs make, so that a block
// that only one run has changes no other one's. O(n log n) for n blocks.
RunDifference compare_runs(StoredRun first, StoredRun second);

// The JSON lists all changes, the text the largest ones.
Rows<RunDifference> rows(const RunDifference*);
std::string difference_text(const RunDifference& difference);
// A page that draws both plans on one scale.
std::string difference_page(const RunDifference& difference);

}  // namespace skyline
