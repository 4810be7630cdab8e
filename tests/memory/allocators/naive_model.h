#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "memory/allocator.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/planners/effort.h"

namespace skyline {

// A naive simulated device: addresses go up, on boundaries of 2 MiB.
struct NaiveDevice {
  std::uint64_t capacity = 0;
  std::uint64_t reserved = 0;
  std::uint64_t next = std::uint64_t{2} << 20;
  std::uint64_t allocations = 0, frees = 0;

  bool fits(std::uint64_t bytes) const { return bytes <= capacity - reserved; }
  std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  std::uint64_t take_addresses(std::uint64_t bytes);
};

// A piece of a segment.
struct Piece {
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t segment = 0;  // where the segment begins
  bool free = false;
  std::uint64_t requested = 0;
  std::uint64_t freed_at = 0;  // the model's clock
  int pool = 0;
};

// A second, naive implementation of an allocator's rules: one flat list of pieces by address,
// scanned for every question. Statistics are sums over the list.
class NaiveModel {
 public:
  explicit NaiveModel(std::uint64_t capacity) : device_{.capacity = capacity} {}
  virtual ~NaiveModel() = default;

  // Returns the address; empty when out of memory.
  std::optional<std::uint64_t> request(std::uint64_t bytes);
  void free(std::uint64_t address);
  virtual void release_cached() = 0;
  virtual void begin_step() {}
  virtual void end_step() {}
  virtual void interrupt() {}
  virtual void resume() {}
  virtual void request_from(RequestSource) {}

  Statistics statistics() const;
  std::vector<Segment> segments() const;
  Shortage shortage() const { return shortage_; }  // of the last refusal

 protected:
  using Choice = std::function<bool(const Piece&)>;

  // Returns the index of the piece that serves the request, marked as used; empty: refused.
  virtual std::optional<std::size_t> serve(std::uint64_t bytes) = 0;
  // The piece at `index` was just freed.
  virtual void freed(std::size_t index) = 0;
  virtual const char* pool_name(int) const { return ""; }

  std::uint64_t sum(const Choice& choice) const;
  std::uint64_t free_bytes() const;
  bool whole(const Piece& piece) const;
  // Returns the smallest free piece of at least `bytes`, the lowest address among equals.
  std::optional<std::size_t> best_fit(std::uint64_t bytes, const Choice& choice) const;
  std::size_t add(const Piece& piece);
  std::optional<std::size_t> take_segment(std::uint64_t bytes, int pool = 0);
  void split(std::size_t index, std::uint64_t bytes);
  // Merges free neighbours of one segment everywhere.
  void merge_free();
  // Returns entirely free segments; the result is their bytes.
  std::uint64_t give_back(const Choice& choice);
  void flush();
  // Notes the reason of a refusal, after everything was tried: `bytes` were requested and `asked`
  // of the device.
  void blame(std::uint64_t bytes, std::uint64_t asked, bool enough_before);

  bool null_for_zero_ = false;  // requests for 0 bytes get the null address
  NaiveDevice device_;
  std::vector<Piece> pieces_;
  Statistics counts_;  // counters and peaks; the rest is summed on demand
  Shortage shortage_ = Shortage::kDevice;

 private:
  std::uint64_t zeros_ = 0;  // live blocks at the null address
};

// Cases that random traces reached.
struct Coverage {
  std::uint64_t served = 0, flushes = 0, device_full = 0, fragmented = 0, limited = 0;
  std::uint64_t device_frees = 0, less_than_a_segment = 0;
};

struct RandomTrace {
  std::size_t events = 100;
  unsigned percent_of_frees = 45;
  std::function<std::size_t(std::mt19937&)> bytes;
};

// Runs one random trace on both. Compares every address, every refusal and its facts, all
// statistics after each event, and the segments at the end. Stops at the first difference.
void compare_with_model(Allocator& allocator, NaiveModel& model, const RandomTrace& trace,
                        std::mt19937& random, Coverage& coverage);

inline std::uint64_t random_traces() { return cases(runs_all_cases() ? 4000 : 2000, 10'000); }

// Calls compare(random) for random_traces() seeds until one fails, and prints that seed.
void compare_random_traces(const std::function<void(std::mt19937&)>& compare);

// Random traces of small blocks, on devices that most of them fill.
template <typename AllocatorT, typename Model>
Coverage compare_on_small_devices() {
  Coverage coverage;
  compare_random_traces([&coverage](std::mt19937& random) {
    const std::size_t capacity = random() % 3 == 0 ? (1u << 24) : 6000 + random() % 100000;
    const std::size_t most_bytes = 512 + random() % 12000;
    SimulatedDevice device(capacity);
    AllocatorT allocator(device);
    Model model(capacity);
    const auto bytes = [most_bytes](std::mt19937& bits) { return bits() % most_bytes; };
    const RandomTrace trace{.events = 40 + random() % 120, .bytes = bytes};
    compare_with_model(allocator, model, trace, random, coverage);
  });
  return coverage;
}

}  // namespace skyline
