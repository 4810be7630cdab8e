#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/formats/pytorch/pickle.h"
#include "memory/replay/live_events.h"

namespace skyline {

// Reads events from a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), a pickled dict:
//
//   segments            [{device, address, total_size, stream, segment_pool_id, blocks: [{size,
//                       requested_size, state, …}], …}]
//   device_traces       for each device, [{action, addr, size, stream, pool_id, frames, …}], as far
//                       back as recorded
//   allocator_settings  {expandable_segments, max_split_size, garbage_collection_threshold,
//                       roundup_power2_divisions, …}, since PyTorch 2.1. What it lacks is read from
//                       the text under PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF
//
// or from a list of segments alone (torch.cuda.memory_snapshot), which has no trace: then every
// block that is alive is requested once.
//
// Blocks that were alive before the trace began come first, by address: those that the trace frees
// but never allocates, and those in the final segments that it does not allocate. Then come its
// alloc and free_completed entries. A block that record_stream gave to other streams is in use from
// free_requested to free_completed: a snapshot holds when they were done, not who they were. Blocks
// are named by their addresses. Their private pool is the entry's pool_id; before PyTorch 2.8, it
// is that of the final segment around the address. A block's tag has the first frame's function as
// op, its file as layer, each cut after 256 bytes, and the category if there is one.
//
// PyTorch returns cached segments for empty_cache(), for want of memory, and for
// garbage_collection_threshold. A snapshot holds the segments (segment_free, segment_unmap), not
// the reason, so each run of such entries is one return of all cached memory. With a threshold,
// runs right before a new segment are left to it. Other entries are skipped.
//
// Holds the whole snapshot in memory. Segments, blocks and entries are distinct objects, as PyTorch
// writes them, so time and memory are in proportion to the file.
class SnapshotReader final : public EventReader {
 public:
  // `source` names the snapshot in errors; `head` is text already read from the stream. `device`
  // defaults to the first one that was used. Throws TraceError if this is not a snapshot.
  SnapshotReader(std::istream& in, std::string_view source, std::string head = {},
                 std::optional<std::size_t> device = {});

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override;
  bool tagged() const override { return true; }
  std::optional<CachingOptions> recorded_options() const override { return options_; }

  // Names the devices that were used but are not read.
  std::string note() const override;

  std::size_t device() const noexcept { return device_; }

 private:
  using Value = PickleDocument::Value;
  static constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  struct InitialBlock {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    Value described = 0;  // the entry or block with its frames
    Value placed = 0;     // the entry or segment with its stream and pool
  };
  // A final segment of the device.
  struct Placed {
    std::uint64_t begin = 0, end = 0;
    Value segment = 0;
  };

  [[noreturn]] void fail(const std::string& where, std::string_view field,
                         const std::string& problem) const;
  Value member(Value dict, std::string_view key, PickleDocument::Kind kind,
               const std::string& where) const;
  std::uint64_t number(Value dict, std::string_view key, const std::string& where,
                       std::uint64_t most = kMost) const;
  std::uint64_t address(Value dict, std::string_view key, const std::string& where) const {
    return number(dict, key, where, std::numeric_limits<std::uint64_t>::max());
  }
  std::string_view action(std::size_t entry) const;
  std::string entry_name(std::size_t index) const;
  void claim(Value object, const std::string& where);

  std::vector<std::size_t> used_devices(std::span<const Value> traces);
  void choose_device(std::optional<std::size_t> device, std::span<const Value> traces);
  void read_settings();
  std::uint64_t divisions(Value value) const;
  RoundupDivisions all_divisions(Value value) const;
  void find_initial_blocks();
  void add_blocks_of(Value segment, const std::string& where,
                     const std::vector<std::uint64_t>& allocated);
  void describe(Value described, Tag& tag) const;
  void place_request(Value placed, std::uint64_t address, AllocationEvent& event);
  std::string pool_name(Value placed, std::string_view key) const;
  bool read_entry(std::size_t index, AllocationEvent& event);
  bool begins_return(std::size_t index) const;
  void name(std::uint64_t address, AllocationEvent& event);

  std::string source_;
  PickleDocument pickle_;
  std::span<const Value> segments_, entries_;
  std::vector<bool> claimed_;  // by Value
  std::size_t device_ = 0;
  std::vector<std::size_t> other_devices_;
  std::optional<CachingOptions> options_;
  std::vector<Placed> placed_;  // by address
  std::vector<InitialBlock> initial_;
  std::size_t next_initial_ = 0, next_entry_ = 0;
  std::string id_, stream_, pool_;
};

}  // namespace skyline
