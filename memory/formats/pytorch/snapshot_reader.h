#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "memory/formats/pytorch/pickle.h"
#include "memory/replay/live_events.h"

namespace skyline {

// Reads events from a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), a pickled dict:
//
//   segments       [{device, address, total_size, blocks: [{size, requested_size, state, …}], …}]
//   device_traces  for each device, [{action, addr, size, frames, …}], as far back as recorded
//
// Blocks that were alive before the trace began come first, by address: those that the trace frees
// but never allocates, and those in the final segments that it does not allocate. Then come its
// alloc and free_completed entries (a block is in use until free_completed). Failures, segments and
// requests to free are skipped. Blocks are named by their addresses. A block's tag has the first
// frame's function as op, its file as layer, and the category if there is one.
//
// Holds the whole snapshot in memory.
class SnapshotReader final : public EventReader {
 public:
  // `source` names the snapshot in errors; `head` is text already read from the stream. `device`
  // defaults to the first one that was used. Throws TraceError if this is not a snapshot.
  SnapshotReader(std::istream& in, std::string_view source, std::string head = {},
                 std::optional<std::size_t> device = {});

  bool next(AllocationEvent& event) override;
  TraceErrorFacts place() const override;
  bool tagged() const override { return true; }

  std::size_t device() const noexcept { return device_; }
  // Devices that were used but are not read.
  const std::vector<std::size_t>& other_devices() const noexcept { return other_devices_; }

 private:
  using Value = PickleDocument::Value;
  struct InitialBlock {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::optional<Value> frames;
  };

  [[noreturn]] void fail(const std::string& where, std::string_view field,
                         const std::string& problem) const;
  Value member(Value dict, std::string_view key, PickleDocument::Kind kind,
               const std::string& where) const;
  std::uint64_t number(Value dict, std::string_view key, const std::string& where) const;
  std::string entry_name(std::size_t index) const;

  std::vector<std::size_t> used_devices() const;
  void choose_device(std::optional<std::size_t> device);
  void find_initial_blocks();
  void add_blocks_of(Value segment, const std::string& where,
                     const std::vector<std::uint64_t>& allocated);
  void read_tag(Value entry, AllocationEvent& event) const;
  void describe(std::optional<Value> frames, Tag& tag) const;
  bool read_entry(std::size_t index, AllocationEvent& event);
  void name(std::uint64_t address, AllocationEvent& event);

  std::string source_;
  PickleDocument pickle_;
  std::size_t device_ = 0;
  std::vector<std::size_t> other_devices_;
  std::vector<InitialBlock> initial_;
  std::size_t next_initial_ = 0, next_entry_ = 0;
  std::string id_;
};

}  // namespace skyline
