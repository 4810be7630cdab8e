#include "train/dry_run.h"

#include <algorithm>
#include <vector>

namespace skyline {

DryRunFacts dry_run(const DryRunOptions& options) {
  MemoryOptions memory;
  memory.device = "simulated";
  memory.allocator = "best-fit-pool";
  memory.guard = options.guard;
  memory.record = true;
  Experiment experiment(
      memory,
      {.execute = false, .mode = options.mode, .in_place = options.in_place, .record_graph = true},
      find_model(options.model), options.shape);
  Batch batch;
  batch.size = static_cast<std::size_t>(options.batch_size);
  experiment.step(batch, {});
  DryRunFacts facts{.graph = experiment.context.step_graph(),
                    .trace = experiment.memory.recording()->last_step(),
                    .parameters = parameter_count(*experiment.model),
                    .resident_bytes = experiment.resident_bytes};
  for (std::size_t i = 0; i < facts.peak_bytes.size(); ++i) {
    facts.peak_bytes[i] = experiment.memory.calls().use(static_cast<Category>(i)).peak_bytes;
  }
  return facts;
}

std::array<std::uint64_t, kCategoryCount> lower_bound_parts(const Trace& trace,
                                                            std::uint64_t alignment) {
  struct Event {
    Tick tick;
    bool allocation;  // frees of a tick come first: lifetimes are half-open
    std::size_t block;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    events.push_back({trace.blocks[i].lower, true, i});
    events.push_back({trace.blocks[i].upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.allocation < b.allocation;
  });
  std::array<std::uint64_t, kCategoryCount> parts{}, most{};
  std::uint64_t alive = 0, most_alive = 0;
  for (const Event& event : events) {
    const std::uint64_t bytes = rounded(trace.blocks[event.block].bytes, alignment);
    std::uint64_t& part = parts[static_cast<std::size_t>(trace.tags[event.block].category)];
    if (!event.allocation) {
      alive -= bytes;
      part -= bytes;
      continue;
    }
    alive += bytes;
    part += bytes;
    if (alive > most_alive) {
      most_alive = alive;
      most = parts;
    }
  }
  return most;
}

}  // namespace skyline
