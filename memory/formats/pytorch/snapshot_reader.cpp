#include "memory/formats/pytorch/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <unordered_set>
#include <utility>

#include "memory/errors.h"
#include "memory/formats/sink.h"
#include "memory/tag.h"

namespace skyline {
namespace {

using Kind = PickleDocument::Kind;

constexpr std::string_view kAlloc = "alloc", kFreeCompleted = "free_completed", kFreed = "free";

std::string text_of(std::istream& in, std::string_view source, std::string head) {
  std::string text = text_to_end(in, std::move(head), PickleDocument::kMostBytes);
  if (in.bad()) {
    throw TraceError({.source = std::string(source), .problem = "the pickle cannot be read"});
  }
  return text;
}

bool holds_memory(std::string_view state) {
  return state == "active_allocated" || state == "active_pending_free" ||
         state == "active_awaiting_free";
}

}  // namespace

SnapshotReader::SnapshotReader(std::istream& in, std::string_view source, std::string head,
                               std::optional<std::size_t> device)
    : source_(source), pickle_(text_of(in, source, std::move(head)), source) {
  if (pickle_.kind(pickle_.root()) != Kind::kDict) {
    fail("the pickle", "",
         fmt::format(
             "got type {}, expected a memory snapshot: a dict with segments and device_traces",
             pickle_kind_name(pickle_.kind(pickle_.root()))));
  }
  choose_device(device);
  find_initial_blocks();
}

void SnapshotReader::fail(const std::string& where, std::string_view field,
                          const std::string& problem) const {
  throw TraceError({.source = fmt::format("{}, {}", source_, where),
                    .field = std::string(field),
                    .problem = problem});
}

PickleDocument::Value SnapshotReader::member(Value dict, std::string_view key, Kind kind,
                                             const std::string& where) const {
  const auto value = pickle_.find(dict, key);
  if (!value) fail(where, key, fmt::format("got none, expected type {}", pickle_kind_name(kind)));
  if (pickle_.kind(*value) != kind) {
    fail(where, key,
         fmt::format("got type {}, expected {}", pickle_kind_name(pickle_.kind(*value)),
                     pickle_kind_name(kind)));
  }
  return *value;
}

std::uint64_t SnapshotReader::number(Value dict, std::string_view key,
                                     const std::string& where) const {
  const std::int64_t value = pickle_.integer(member(dict, key, Kind::kInteger, where));
  if (value < 0) fail(where, key, fmt::format("got {}, expected 0 or more", value));
  return static_cast<std::uint64_t>(value);
}

std::string SnapshotReader::entry_name(std::size_t index) const {
  return fmt::format("device_traces[{}][{}]", device_, index);
}

// Returns the devices with a trace or a segment, ascending.
std::vector<std::size_t> SnapshotReader::used_devices() const {
  std::vector<std::size_t> used;
  const auto traces =
      pickle_.items(member(pickle_.root(), "device_traces", Kind::kList, "the snapshot"));
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (pickle_.kind(traces[i]) != Kind::kList) {
      fail(fmt::format("device_traces[{}]", i), "",
           fmt::format("got type {}, expected list", pickle_kind_name(pickle_.kind(traces[i]))));
    }
    if (!pickle_.items(traces[i]).empty()) used.push_back(i);
  }
  const auto segments =
      pickle_.items(member(pickle_.root(), "segments", Kind::kList, "the snapshot"));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // Snapshots older than PyTorch 1.13 have no device.
    if (!pickle_.find(segments[i], "device")) continue;
    used.push_back(number(segments[i], "device", fmt::format("segments[{}]", i)));
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

void SnapshotReader::choose_device(std::optional<std::size_t> device) {
  std::vector<std::size_t> used = used_devices();
  if (device && std::ranges::find(used, *device) == used.end()) {
    fail("the snapshot", "device",
         used.empty() ? fmt::format("got {}, but no device was used", *device)
                      : fmt::format("got {}, expected one of {}", *device, fmt::join(used, ", ")));
  }
  device_ = device.value_or(used.empty() ? 0 : used.front());
  std::erase(used, device_);
  other_devices_ = std::move(used);
}

void SnapshotReader::find_initial_blocks() {
  std::unordered_set<std::uint64_t> allocated;
  const auto traces =
      pickle_.items(member(pickle_.root(), "device_traces", Kind::kList, "the snapshot"));
  const auto entries =
      device_ < traces.size() ? pickle_.items(traces[device_]) : std::span<const Value>{};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view action =
        pickle_.text(member(entries[i], "action", Kind::kString, entry_name(i)));
    if (action == kAlloc) {
      allocated.insert(number(entries[i], "addr", entry_name(i)));
    } else if (action == kFreeCompleted || action == kFreed) {
      const std::uint64_t address = number(entries[i], "addr", entry_name(i));
      if (allocated.erase(address) > 0) continue;
      initial_.push_back(
          {address, number(entries[i], "size", entry_name(i)), pickle_.find(entries[i], "frames")});
    }
  }
  const std::vector<std::uint64_t> at_end = [&] {
    std::vector<std::uint64_t> sorted(allocated.begin(), allocated.end());
    std::ranges::sort(sorted);
    return sorted;
  }();
  const auto segments =
      pickle_.items(member(pickle_.root(), "segments", Kind::kList, "the snapshot"));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    add_blocks_of(segments[i], fmt::format("segments[{}]", i), at_end);
  }
  std::ranges::stable_sort(initial_, std::less<>(), &InitialBlock::address);
}

// Adds the blocks of a segment that were alive before the trace and still are. A block's address is
// summed up from the sizes before it, because old snapshots do not store it.
void SnapshotReader::add_blocks_of(Value segment, const std::string& where,
                                   const std::vector<std::uint64_t>& allocated) {
  if (pickle_.find(segment, "device") && number(segment, "device", where) != device_) return;
  std::uint64_t address = number(segment, "address", where);
  const auto blocks = pickle_.items(member(segment, "blocks", Kind::kList, where));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string block = fmt::format("{}.blocks[{}]", where, i);
    const std::uint64_t bytes = number(blocks[i], "size", block);
    const auto state = pickle_.text(member(blocks[i], "state", Kind::kString, block));
    if (holds_memory(state) && !std::ranges::binary_search(allocated, address)) {
      const bool exact = pickle_.find(blocks[i], "requested_size").has_value();
      initial_.push_back({address, exact ? number(blocks[i], "requested_size", block) : bytes,
                          pickle_.find(blocks[i], "frames")});
    }
    address += bytes;
  }
}

bool SnapshotReader::next(AllocationEvent& event) {
  if (next_initial_ < initial_.size()) {
    const InitialBlock& block = initial_[next_initial_++];
    event = {.bytes = block.bytes};
    describe(block.frames, event.tag);
    name(block.address, event);
    return true;
  }
  const auto traces = pickle_.items(*pickle_.find(pickle_.root(), "device_traces"));
  if (device_ >= traces.size()) return false;
  while (next_entry_ < pickle_.items(traces[device_]).size()) {
    if (read_entry(next_entry_++, event)) return true;
  }
  return false;
}

// Returns false for an entry that is not an event of a block.
bool SnapshotReader::read_entry(std::size_t index, AllocationEvent& event) {
  const auto traces = pickle_.items(*pickle_.find(pickle_.root(), "device_traces"));
  const Value entry = pickle_.items(traces[device_])[index];
  const std::string_view action = pickle_.text(*pickle_.find(entry, "action"));
  const bool allocation = action == kAlloc;
  if (!allocation && action != kFreeCompleted && action != kFreed) return false;
  event = {.kind = allocation ? AllocationEvent::Kind::kAllocation : AllocationEvent::Kind::kFree};
  if (allocation) {
    const auto size = pickle_.find(entry, "size");
    const bool known = size && pickle_.kind(*size) == Kind::kInteger && pickle_.integer(*size) >= 0;
    event.bytes = known ? static_cast<std::uint64_t>(pickle_.integer(*size))
                        : number(entry, "size", entry_name(index));
    read_tag(entry, event);
  }
  name(static_cast<std::uint64_t>(pickle_.integer(*pickle_.find(entry, "addr"))), event);
  return true;
}

void SnapshotReader::read_tag(Value entry, AllocationEvent& event) const {
  describe(pickle_.find(entry, "frames"), event.tag);
  const auto category = pickle_.find(entry, "category");
  if (category && pickle_.kind(*category) == Kind::kString) {
    event.tag.category = category_called(pickle_.text(*category));
  }
}

void SnapshotReader::describe(std::optional<Value> frames, Tag& tag) const {
  if (!frames || pickle_.kind(*frames) != Kind::kList || pickle_.items(*frames).empty()) return;
  const Value frame = pickle_.items(*frames).front();
  const auto text = [&](std::string_view key) {
    const auto value = pickle_.find(frame, key);
    return value && pickle_.kind(*value) == Kind::kString ? pickle_.text(*value)
                                                          : std::string_view{};
  };
  tag.op = text("name");
  tag.layer = text("filename");
}

void SnapshotReader::name(std::uint64_t address, AllocationEvent& event) {
  id_ = fmt::format("{:#x}", address);
  event.id = id_;
}

TraceErrorFacts SnapshotReader::place() const {
  const bool in_trace = next_entry_ > 0;
  return {.source =
              fmt::format("{}, {}", source_, in_trace ? entry_name(next_entry_ - 1) : "segments")};
}

}  // namespace skyline
