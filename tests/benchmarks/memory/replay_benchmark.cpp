// Events per second: reading an event trace, following its blocks, and replaying it under each
// allocator of the table and the session, all from text in memory. The trace has training-like
// steps of 2000 events, with the same requests in every step.
#include <benchmark/benchmark.h>

#include <random>
#include <sstream>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/replay/event_replay.h"
#include "memory/session/session.h"

namespace skyline {
namespace {

constexpr int kSteps = 100, kLayers = 250;
constexpr std::int64_t kEvents = std::int64_t{kSteps} * 8 * kLayers;

// Activations stack up and die in reverse, each op with a workspace. Ids are new in every step.
class TraceText {
 public:
  TraceText() {
    for (int step = 0; step < kSteps; ++step) {
      text_ += "s,,\n";
      for (int i = 0; i < kLayers; ++i) {
        allocate('x', i);
        allocate('w', i);
        free('w', i);
      }
      for (int i = kLayers; i-- > 0;) {
        allocate('g', i);
        allocate('v', i);
        free('v', i);
        free('g', i);
        free('x', i);
      }
      first_id_ += kLayers;
    }
  }
  const std::string& text() const { return text_; }

 private:
  void allocate(char kind, int layer) {
    std::mt19937_64 random(static_cast<std::uint64_t>(layer) * 256 +
                           static_cast<unsigned char>(kind));
    const std::uint64_t bytes = 512 + random() % (std::uint64_t{1} << (10 + random() % 14));
    text_ += std::string("a,") + kind + std::to_string(first_id_ + layer) + ',' +
             std::to_string(bytes) + '\n';
  }
  void free(char kind, int layer) {
    text_ += std::string("f,") + kind + std::to_string(first_id_ + layer) + ",\n";
  }

  std::string text_ = "event,id,bytes\n";
  int first_id_ = 0;
};

const std::string& trace_text() {
  static const TraceText text;
  return text.text();
}

void count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kEvents);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(trace_text().size()));
}

void read_events(benchmark::State& state) {
  for (auto _ : state) {
    std::istringstream in(trace_text());
    EventCsvReader reader(in, "trace");
    for (AllocationEvent event; reader.next(event);) benchmark::DoNotOptimize(event.bytes);
  }
  count(state);
}
BENCHMARK(read_events);

void follow_blocks(benchmark::State& state) {
  for (auto _ : state) {
    std::istringstream in(trace_text());
    EventCsvReader reader(in, "trace");
    LiveEvents events(reader);
    EventDemand demand;
    while (events.next()) demand.apply(events);
    benchmark::DoNotOptimize(demand.lower_bound());
  }
  count(state);
}
BENCHMARK(follow_blocks);

std::unique_ptr<Allocator> make(const std::string& name, Device& device) {
  if (name == "planned") return std::make_unique<Session>(device);
  return make_allocator(name, device);
}

void replay(benchmark::State& state, const std::string& name) {
  for (auto _ : state) {
    std::istringstream in(trace_text());
    EventCsvReader reader(in, "trace");
    SimulatedDevice device;
    const auto allocator = make(name, device);
    EventReplay replayed(name, *allocator, device);
    LiveEvents events(reader);
    while (events.next()) replayed.apply(events);
    replayed.finish(events);
    benchmark::DoNotOptimize(replayed.figures().end.peak_reserved_bytes);
  }
  count(state);
}

const bool kRegistered = [] {
  std::vector<std::string> names;
  for (const AllocatorEntry& entry : allocator_table()) names.emplace_back(entry.name);
  names.emplace_back("planned");
  for (const std::string& name : names) {
    benchmark::RegisterBenchmark(("replay/" + name).c_str(),
                                 [name](benchmark::State& state) { replay(state, name); });
  }
  return true;
}();

}  // namespace
}  // namespace skyline
