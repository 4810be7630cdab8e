// A replay's memory does not grow with its trace. A program of its own, because it replaces
// operator new to count.
#include <gtest/gtest.h>

#include <istream>
#include <streambuf>
#include <string>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/replay/event_replay.h"
#include "memory/replay/trace_events.h"
#include "tests/memory/heap_counter.h"

namespace skyline {
namespace {

// An endless event trace, made piece by piece: rounds of a few hundred blocks of many sizes, each
// with a new name.
class EndlessTrace final : public std::streambuf {
 protected:
  int_type underflow() override {
    if (piece_.empty()) piece_.reserve(kBlocks * 32);
    piece_ = round_ == 0 ? "event,id,bytes\n" : "";
    append_round();
    ++round_;
    setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
    return traits_type::to_int_type(piece_[0]);
  }

 private:
  static constexpr std::uint64_t kBlocks = 300;

  void append_round() {
    for (std::uint64_t i = 0; i < kBlocks; ++i) line('a', i, true);
    for (std::uint64_t i = 0; i < kBlocks; ++i) line('f', i * 7 % kBlocks, false);
  }
  void line(char event, std::uint64_t block, bool sized) {
    piece_ += event;
    piece_ += ',';
    piece_ += std::to_string(round_ * kBlocks + block);
    piece_ += ',';
    if (sized) piece_ += std::to_string(512 * (1 + block * block % 1009));
    piece_ += '\n';
  }

  std::string piece_;
  std::uint64_t round_ = 0;
};

TEST(ReplayMemory, DoesNotGrowWithTheTrace) {
  EndlessTrace text;
  std::istream in(&text);
  EventCsvReader reader(in, "endless");
  LiveEvents events(reader);
  SimulatedDevice device;
  BestFitPool pool(device);
  EventReplay replay("best-fit-pool", pool, device);
  EventDemand demand;
  TraceBuilder collected(10'000);
  const auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(events.next());
      demand.apply(events);
      collected.apply(events);
      replay.apply(events);
    }
  };
  run(100'000);
  const std::size_t before = heap_allocations();
  run(1'000'000);
  EXPECT_LE(heap_allocations() - before, 4u) << "a buffer may double once more";
  EXPECT_EQ(events.blocks().slots(), 300u);
  EXPECT_EQ(demand.peak_live_blocks(), 300u);
  EXPECT_TRUE(collected.passed_limit());
}

}  // namespace
}  // namespace skyline
