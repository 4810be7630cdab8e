#include "memory/formats/pytorch/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <istream>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "memory/errors.h"
#include "memory/formats/sink.h"
#include "memory/tag.h"

namespace skyline {
namespace {

using Kind = PickleDocument::Kind;

constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostFrameKeys = 64;  // PyTorch writes three
constexpr std::uint64_t kMostMebibytes = std::uint64_t{1} << 40;

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

bool allocates(std::string_view action) { return action == "alloc"; }
bool frees(std::string_view action) { return action == "free_completed" || action == "free"; }
bool takes_segment(std::string_view action) {
  return action == "segment_alloc" || action == "segment_map";
}
bool returns_segment(std::string_view action) {
  return action == "segment_free" || action == "segment_unmap";
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

// Reads one setting as PYTORCH_CUDA_ALLOC_CONF holds it; returns false if PyTorch would refuse it.
bool read_setting(std::string_view key, std::string_view value, CachingOptions& options) {
  std::uint64_t mebibytes = 0;
  if (key == "expandable_segments") {
    options.expandable_segments = value == "True";
    return value == "True" || value == "False";
  }
  if (key == "max_split_size_mb") {
    if (!read_number(value, mebibytes) || mebibytes > kMostMebibytes) return false;
    options.max_split_bytes = mebibytes << 20;
    return valid_max_split(*options.max_split_bytes);
  }
  if (key == "garbage_collection_threshold") {
    double& share = options.garbage_collection_threshold;
    return read_number(value, share) && share >= 0 && share <= 1;
  }
  if (key != "roundup_power2_divisions") return true;
  try {
    options.roundup_power2_divisions = RoundupDivisions::read(value);
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

// Reads "key:value,key:[size:value,size:value]". Returns false if PyTorch would refuse it.
bool read_variable(std::string text, CachingOptions& options) {
  std::erase(text, ' ');
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view key = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    const std::size_t list = rest.starts_with('[') ? rest.find(']') : 0;
    const std::string_view value = rest.substr(0, rest.find(',', std::min(list, rest.size())));
    if (!read_setting(key, value, options)) return false;
    rest.remove_prefix(std::min(value.size() + 1, rest.size()));
  }
  return true;
}

}  // namespace

SnapshotReader::SnapshotReader(std::istream& in, std::string_view source, std::string head,
                               std::optional<std::size_t> device)
    : source_(source),
      pickle_(text_of(in, source, std::move(head)), source),
      claimed_(pickle_.values()) {
  std::span<const Value> traces;
  if (pickle_.kind(pickle_.root()) == Kind::kList) {
    segments_ = pickle_.items(pickle_.root());
  } else if (pickle_.kind(pickle_.root()) == Kind::kDict) {
    segments_ = pickle_.items(member(pickle_.root(), "segments", Kind::kList, "the snapshot"));
    traces = pickle_.items(member(pickle_.root(), "device_traces", Kind::kList, "the snapshot"));
  } else {
    fail("the pickle", "",
         fmt::format("got type {}, expected a memory snapshot: a dict with segments and "
                     "device_traces, or a list of segments",
                     pickle_kind_name(pickle_.kind(pickle_.root()))));
  }
  choose_device(device, traces);
  if (device_ < traces.size()) entries_ = pickle_.items(traces[device_]);
  read_settings();
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
  const Kind found = pickle_.kind(*value);
  if (found == kind || (kind == Kind::kInteger && found == Kind::kUnsigned)) return *value;
  fail(where, key,
       fmt::format("got type {}, expected {}", pickle_kind_name(found), pickle_kind_name(kind)));
}

std::uint64_t SnapshotReader::number(Value dict, std::string_view key, const std::string& where,
                                     std::uint64_t most) const {
  const Value value = member(dict, key, Kind::kInteger, where);
  if (pickle_.kind(value) == Kind::kInteger && pickle_.integer(value) < 0) {
    fail(where, key, fmt::format("got {}, expected 0 or more", pickle_.integer(value)));
  }
  const std::uint64_t found = pickle_.unsigned_integer(value);
  if (found > most) fail(where, key, fmt::format("got {}, expected at most {}", found, most));
  return found;
}

std::string_view SnapshotReader::action(std::size_t entry) const {
  const auto found = pickle_.find(entries_[entry], "action");
  if (found && pickle_.kind(*found) == Kind::kString) return pickle_.text(*found);
  return pickle_.text(member(entries_[entry], "action", Kind::kString, entry_name(entry)));
}

std::string SnapshotReader::entry_name(std::size_t index) const {
  return fmt::format("device_traces[{}][{}]", device_, index);
}

// A small file could name one object in many places, and be read for hours.
void SnapshotReader::claim(Value object, const std::string& where) {
  if (claimed_[object]) fail(where, "", "got an object that was there before, expected a new one");
  claimed_[object] = true;
}

// Returns the devices with a trace or a segment, ascending.
std::vector<std::size_t> SnapshotReader::used_devices(std::span<const Value> traces) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (pickle_.kind(traces[i]) != Kind::kList) {
      fail(fmt::format("device_traces[{}]", i), "",
           fmt::format("got type {}, expected list", pickle_kind_name(pickle_.kind(traces[i]))));
    }
    if (!pickle_.items(traces[i]).empty()) used.push_back(i);
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    claim(segments_[i], fmt::format("segments[{}]", i));
    // Snapshots older than PyTorch 1.13 have no device.
    if (!pickle_.find(segments_[i], "device")) continue;
    used.push_back(number(segments_[i], "device", fmt::format("segments[{}]", i)));
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

void SnapshotReader::choose_device(std::optional<std::size_t> device,
                                   std::span<const Value> traces) {
  std::vector<std::size_t> used = used_devices(traces);
  if (device && std::ranges::find(used, *device) == used.end()) {
    fail("the snapshot", "device",
         used.empty() ? fmt::format("got {}, but no device was used", *device)
                      : fmt::format("got {}, expected one of {}", *device, fmt::join(used, ", ")));
  }
  device_ = device.value_or(used.empty() ? 0 : used.front());
  std::erase(used, device_);
  other_devices_ = std::move(used);
}

std::string SnapshotReader::note() const {
  if (other_devices_.empty()) return {};
  return fmt::format("the snapshot has several devices: device {} is replayed, {} left out",
                     device_, fmt::join(other_devices_, ", "));
}

void SnapshotReader::read_settings() {
  const auto settings = pickle_.find(pickle_.root(), "allocator_settings");
  if (!settings || pickle_.kind(*settings) != Kind::kDict) return;
  const auto of_kind = [&](std::string_view key, Kind kind) {
    const auto value = pickle_.find(*settings, key);
    return value && pickle_.kind(*value) == kind ? value : std::nullopt;
  };
  CachingOptions& options = options_.emplace();
  for (const char* variable : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const auto value = of_kind(variable, Kind::kString);
    if (value && !read_variable(std::string(pickle_.text(*value)), options)) {
      fail("allocator_settings", variable,
           shown_cell(pickle_.text(*value)) + ", expected PyTorch's key:value,key:value");
    }
  }
  if (const auto value = of_kind("expandable_segments", Kind::kBoolean)) {
    options.expandable_segments = pickle_.boolean(*value);
  }
  // Without a limit PyTorch writes the largest size, as -1.
  const auto most = of_kind("max_split_size", Kind::kInteger);
  if (most && pickle_.integer(*most) > 0 && pickle_.unsigned_integer(*most) < kMost) {
    options.max_split_bytes = pickle_.unsigned_integer(*most);
    if (!valid_max_split(*options.max_split_bytes)) {
      fail("allocator_settings", "max_split_size",
           fmt::format("got {}, expected whole MiB above 20", *options.max_split_bytes));
    }
  }
  if (const auto value = of_kind("garbage_collection_threshold", Kind::kFloat)) {
    options.garbage_collection_threshold = pickle_.number(*value);
    if (!(pickle_.number(*value) >= 0 && pickle_.number(*value) <= 1)) {
      fail("allocator_settings", "garbage_collection_threshold",
           fmt::format("got {}, expected from 0 to 1", pickle_.number(*value)));
    }
  }
  if (const auto value = pickle_.find(*settings, "roundup_power2_divisions")) {
    options.roundup_power2_divisions = all_divisions(*value);
  }
}

// 0: off.
std::uint64_t SnapshotReader::divisions(Value value) const {
  const bool integer = pickle_.kind(value) == Kind::kInteger;
  const std::uint64_t steps = integer ? pickle_.unsigned_integer(value) : 3;
  if (steps == 0) return 1;
  if (std::has_single_bit(steps) && steps <= std::uint64_t{1} << 20) return steps;
  fail("allocator_settings", "roundup_power2_divisions",
       "got a value that is not 0 or a power of two up to 2^20");
}

// PyTorch writes a dict from sizes in MiB, "1" to "32768"; in its order, a list is the same.
RoundupDivisions SnapshotReader::all_divisions(Value value) const {
  if (pickle_.kind(value) == Kind::kInteger) return divisions(value);
  RoundupDivisions all;
  const std::span<std::uint64_t> by_size(all.by_size);
  for (std::size_t i = 0; i < by_size.size(); ++i) {
    if (pickle_.kind(value) == Kind::kDict) {
      const auto steps = pickle_.find(value, std::to_string(std::uint64_t{1} << i));
      if (steps) by_size[i] = divisions(*steps);
    } else if (pickle_.kind(value) == Kind::kList || pickle_.kind(value) == Kind::kTuple) {
      if (i < pickle_.items(value).size()) by_size[i] = divisions(pickle_.items(value)[i]);
    }
  }
  return all;
}

void SnapshotReader::find_initial_blocks() {
  std::unordered_set<std::uint64_t> allocated;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Value entry = entries_[i];
    claim(entry, entry_name(i));
    const bool allocation = allocates(action(i));
    if (!allocation && !frees(action(i))) continue;
    const std::uint64_t at = address(entry, "addr", entry_name(i));
    if (allocation) {
      allocated.insert(at);
    } else if (allocated.erase(at) == 0) {
      initial_.push_back({at, number(entry, "size", entry_name(i)), entry, entry});
    }
  }
  std::vector<std::uint64_t> at_end(allocated.begin(), allocated.end());
  std::ranges::sort(at_end);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    add_blocks_of(segments_[i], fmt::format("segments[{}]", i), at_end);
  }
  std::ranges::stable_sort(initial_, std::less<>(), &InitialBlock::address);
  std::ranges::stable_sort(placed_, std::less<>(), &Placed::begin);
}

// Adds the blocks of a segment that were alive before the trace and still are. A block's address is
// summed up from the sizes before it, because old snapshots do not store it.
void SnapshotReader::add_blocks_of(Value segment, const std::string& where,
                                   const std::vector<std::uint64_t>& allocated) {
  if (pickle_.find(segment, "device") && number(segment, "device", where) != device_) return;
  std::uint64_t at = address(segment, "address", where);
  Placed& placed = placed_.emplace_back(Placed{.begin = at, .end = at, .segment = segment});
  const auto blocks = pickle_.items(member(segment, "blocks", Kind::kList, where));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string block = fmt::format("{}.blocks[{}]", where, i);
    claim(blocks[i], block);
    const std::uint64_t bytes = number(blocks[i], "size", block);
    const auto state = pickle_.text(member(blocks[i], "state", Kind::kString, block));
    if (holds_memory(state) && !std::ranges::binary_search(allocated, at)) {
      const bool exact = pickle_.find(blocks[i], "requested_size").has_value();
      initial_.push_back(
          {at, exact ? number(blocks[i], "requested_size", block) : bytes, blocks[i], segment});
    }
    placed.end = at += bytes;
  }
}

bool SnapshotReader::next(AllocationEvent& event) {
  if (next_initial_ < initial_.size()) {
    const InitialBlock& block = initial_[next_initial_++];
    event = {.bytes = block.bytes};
    describe(block.described, event.tag);
    place_request(block.placed, block.address, event);
    name(block.address, event);
    return true;
  }
  while (next_entry_ < entries_.size()) {
    if (read_entry(next_entry_++, event)) return true;
  }
  return false;
}

// Returns false for an entry that is no event.
bool SnapshotReader::read_entry(std::size_t index, AllocationEvent& event) {
  const Value entry = entries_[index];
  const std::string where = entry_name(index);
  const std::string_view act = action(index);
  event = {};
  if (returns_segment(act)) {
    event.kind = AllocationEvent::Kind::kReturn;
    return begins_return(index);
  }
  if (!allocates(act) && !frees(act)) return false;
  const std::uint64_t at = address(entry, "addr", where);
  name(at, event);
  if (frees(act)) {
    event.kind = AllocationEvent::Kind::kFree;
    return true;
  }
  event.bytes = number(entry, "size", where);
  describe(entry, event.tag);
  const auto category = pickle_.find(entry, "category");
  if (category && pickle_.kind(*category) == Kind::kString) {
    event.tag.category = category_called(pickle_.text(*category));
  }
  place_request(entry, at, event);
  return true;
}

bool SnapshotReader::begins_return(std::size_t index) const {
  if (index > 0 && returns_segment(action(index - 1))) return false;
  if (!options_ || options_->garbage_collection_threshold == 0) return true;
  while (index < entries_.size() && returns_segment(action(index))) ++index;
  return index == entries_.size() || !takes_segment(action(index));
}

// PyTorch shares one list of frames among all entries that were made there.
void SnapshotReader::describe(Value described, Tag& tag) const {
  const auto frames = pickle_.find(described, "frames");
  if (!frames || pickle_.kind(*frames) != Kind::kList || pickle_.items(*frames).empty()) return;
  const Value frame = pickle_.items(*frames).front();
  if (pickle_.kind(frame) != Kind::kDict || pickle_.items(frame).size() > 2 * kMostFrameKeys)
    return;
  const auto text = [&](std::string_view key) {
    const auto value = pickle_.find(frame, key);
    return value && pickle_.kind(*value) == Kind::kString
               ? pickle_.text(*value).substr(0, kLongestName)
               : std::string_view{};
  };
  tag.op = text("name");
  tag.layer = text("filename");
}

void SnapshotReader::place_request(Value placed, std::uint64_t address, AllocationEvent& event) {
  const auto stream = pickle_.find(placed, "stream");
  stream_ = stream && pickle_.kind(*stream) == Kind::kInteger
                ? std::to_string(pickle_.integer(*stream))
                : std::string();
  pool_ = pool_name(placed, "pool_id");
  if (!pickle_.find(placed, "pool_id")) {
    const auto after = std::ranges::upper_bound(placed_, address, std::less<>(), &Placed::begin);
    const bool inside = after != placed_.begin() && address < std::prev(after)->end;
    if (inside) pool_ = pool_name(std::prev(after)->segment, "segment_pool_id");
  }
  event.stream = stream_;
  event.pool = pool_;
}

// "0.1" for (0, 1); empty for (0, 0), which is no private pool.
std::string SnapshotReader::pool_name(Value placed, std::string_view key) const {
  const auto id = pickle_.find(placed, key);
  const bool pair = id && (pickle_.kind(*id) == Kind::kTuple || pickle_.kind(*id) == Kind::kList) &&
                    pickle_.items(*id).size() == 2;
  if (!pair) return {};
  const std::uint64_t first = pickle_.unsigned_integer(pickle_.items(*id)[0]);
  const std::uint64_t second = pickle_.unsigned_integer(pickle_.items(*id)[1]);
  return first == 0 && second == 0 ? "" : fmt::format("{}.{}", first, second);
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
