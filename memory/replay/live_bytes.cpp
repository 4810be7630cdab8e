#include "memory/replay/live_bytes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "memory/replay/trace_events.h"

namespace skyline {
namespace {

Tick fullest_tick(const Trace& trace, std::uint64_t alignment) {
  std::uint64_t alive = 0, most = 0;
  Tick tick = 0;
  for (const TraceEvent& event : trace_events(trace)) {
    const std::uint64_t bytes = align_checked(trace.blocks[event.block].bytes, alignment);
    alive = event.allocation ? alive + bytes : alive - bytes;
    if (alive > most) {
      most = alive;
      tick = event.tick;
    }
  }
  return tick;
}

void count(const RecordedRun::Event& event, const RecordedRun& run, std::uint64_t alignment,
           CategoryBytes& bytes) {
  const Category category = run.requests[event.request].tag.category;
  bytes[static_cast<std::size_t>(category)] +=
      static_cast<std::uint64_t>(run.added_bytes(event, alignment));
}

// "conv2_1.conv1.weight" belongs to "conv2_1.conv1".
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
  Layers layers(grouping);
  for (const RecordedRun::Event& event : run.before) {
    const std::size_t layer = layers.index_of(run.requests[event.request].tag);
    layers.at(layer).resident_bytes +=
        static_cast<std::uint64_t>(run.added_bytes(event, alignment));
  }
  std::vector<std::size_t> layer_of;  // block → row
  for (const BlockTag& tag : step.tags) layer_of.push_back(layers.index_of(tag));
  std::unordered_map<std::size_t, std::uint64_t> alive;  // by row
  for (const TraceEvent& event : trace_events(step)) {
    const std::size_t layer = layer_of[event.block];
    const std::uint64_t bytes = align_checked(step.blocks[event.block].bytes, alignment);
    alive[layer] = event.allocation ? alive[layer] + bytes : alive[layer] - bytes;
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
