#include "memory/replay/live_bytes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace skyline {
namespace {

struct Change {
  Tick tick = 0;
  bool allocation = false;  // frees of a tick come first: lifetimes are half-open
  std::size_t block = 0;
};

std::vector<Change> changes_of(const Trace& trace) {
  std::vector<Change> changes;
  changes.reserve(2 * trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    changes.push_back({trace.blocks[i].lower, true, i});
    changes.push_back({trace.blocks[i].upper, false, i});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.allocation < b.allocation;
  });
  return changes;
}

Tick fullest_tick(const Trace& trace, std::uint64_t alignment) {
  std::uint64_t alive = 0, most = 0;
  Tick tick = 0;
  for (const Change& change : changes_of(trace)) {
    const std::uint64_t bytes = align_checked(trace.blocks[change.block].bytes, alignment);
    alive = change.allocation ? alive + bytes : alive - bytes;
    if (alive > most) {
      most = alive;
      tick = change.tick;
    }
  }
  return tick;
}

void count(const RecordedRun::Event& event, const RecordedRun& run, std::uint64_t alignment,
           CategoryBytes& bytes) {
  const RecordedRun::Request& request = run.requests[event.request];
  std::uint64_t& part = bytes[static_cast<std::size_t>(request.tag.category)];
  if (event.act == RecordedRun::Act::kAllocate) part += align_checked(request.bytes, alignment);
  if (event.act == RecordedRun::Act::kFree) part -= align_checked(request.bytes, alignment);
}

// "conv2_1.conv1.weight" → "conv2_1.conv1".
std::string_view owner_of(std::string_view resident) {
  return resident.substr(0, std::min(resident.rfind('.'), resident.size()));
}

class Layers {
 public:
  explicit Layers(Grouping grouping) : grouping_(grouping) {}

  std::size_t index_of(const BlockTag& tag) {
    std::string_view name = tag.layer;
    if (tag.phase == Phase::kOutside) name = owner_of(name);
    if (grouping_ == Grouping::kTopLevel)
      name = name.substr(0, std::min(name.find('.'), name.size()));
    const auto [place, is_new] = indices_.try_emplace(std::string(name), rows_.size());
    if (is_new) rows_.push_back({.layer = place->first});
    return place->second;
  }
  LayerBytes& at(std::size_t index) { return rows_[index]; }
  std::vector<LayerBytes> take() { return std::move(rows_); }

 private:
  Grouping grouping_;
  std::unordered_map<std::string, std::size_t> indices_;
  std::vector<LayerBytes> rows_;
};

}  // namespace

std::vector<std::size_t> blocks_at_fullest_tick(const Trace& trace, std::uint64_t alignment) {
  const Tick tick = fullest_tick(trace, alignment);
  std::vector<std::size_t> blocks;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.blocks[i].lower <= tick && tick < trace.blocks[i].upper) blocks.push_back(i);
  }
  return blocks;
}

CategoryBytes lower_bound_parts(const Trace& trace, std::uint64_t alignment) {
  CategoryBytes parts{};
  for (const std::size_t block : blocks_at_fullest_tick(trace, alignment)) {
    parts[static_cast<std::size_t>(trace.tags[block].category)] +=
        align_checked(trace.blocks[block].bytes, alignment);
  }
  return parts;
}

CategoryBytes category_peaks(const RecordedRun& run, std::uint64_t alignment) {
  CategoryBytes bytes{}, most{};
  for (const std::vector<RecordedRun::Event>* events : {&run.before, &run.step}) {
    for (const RecordedRun::Event& event : *events) {
      count(event, run, alignment, bytes);
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], bytes[i]);
    }
  }
  return most;
}

CategoryBytes resident_parts(const RecordedRun& run, std::uint64_t alignment) {
  CategoryBytes bytes{};
  for (const RecordedRun::Event& event : run.before) count(event, run, alignment, bytes);
  return bytes;
}

std::vector<LayerBytes> layer_bytes(const RecordedRun& run, const Trace& step, Grouping grouping,
                                    std::uint64_t alignment) {
  using Act = RecordedRun::Act;
  Layers layers(grouping);
  for (const RecordedRun::Event& event : run.before) {
    const RecordedRun::Request& request = run.requests[event.request];
    std::uint64_t& bytes = layers.at(layers.index_of(request.tag)).resident_bytes;
    if (event.act == Act::kAllocate) bytes += align_checked(request.bytes, alignment);
    if (event.act == Act::kFree) bytes -= align_checked(request.bytes, alignment);
  }
  std::vector<std::size_t> layer_of;  // block → row
  for (const BlockTag& tag : step.tags) layer_of.push_back(layers.index_of(tag));
  std::unordered_map<std::size_t, std::uint64_t> alive;  // by row
  for (const Change& change : changes_of(step)) {
    const std::size_t layer = layer_of[change.block];
    const std::uint64_t bytes = align_checked(step.blocks[change.block].bytes, alignment);
    alive[layer] = change.allocation ? alive[layer] + bytes : alive[layer] - bytes;
    layers.at(layer).peak_bytes = std::max(layers.at(layer).peak_bytes, alive[layer]);
  }
  for (const std::size_t block : blocks_at_fullest_tick(step, alignment)) {
    LayerBytes& layer = layers.at(layer_of[block]);
    const std::uint64_t bytes = align_checked(step.blocks[block].bytes, alignment);
    layer.bytes_at_lower_bound += bytes;
    layer.categories_at_lower_bound[static_cast<std::size_t>(step.tags[block].category)] += bytes;
  }
  return layers.take();
}

}  // namespace skyline
