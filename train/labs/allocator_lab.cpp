#include "train/labs/lab.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/random_inputs.h"

namespace skyline {
namespace {

constexpr std::uint64_t kRuns = 20;
constexpr std::uint64_t kSteps = 10;

// A device that knows which bytes it has handed out.
class WatchedDevice final : public Device {
 public:
  std::string_view name() const noexcept override { return device_.name(); }
  bool has_memory() const noexcept override { return false; }
  std::size_t capacity_bytes() const noexcept override { return device_.capacity_bytes(); }
  DeviceStatistics statistics() const noexcept override { return device_.statistics(); }

  std::byte* allocate(std::size_t bytes) override {
    std::byte* address = device_.allocate(bytes);
    pieces_.emplace(address, bytes);
    return address;
  }

  void deallocate(std::byte* address, std::size_t bytes) noexcept override {
    const auto piece = pieces_.find(address);
    if (piece == pieces_.end() || piece->second != bytes) {
      fault_ = "a piece was returned that the device did not hand out";
      return;
    }
    device_.deallocate(address, bytes);
    pieces_.erase(piece);
  }

  std::unique_ptr<Range> reserve(std::size_t) override {
    throw std::logic_error("this exercise has no ranges: use allocate()");
  }

  // Throws std::logic_error unless the block lies in one piece, aligned.
  void require_within(const Block& block) const {
    auto piece = pieces_.upper_bound(block.address());
    if (piece == pieces_.begin()) throw std::logic_error("a block lies outside of all pieces");
    --piece;
    if (block.address() + block.bytes() > piece->first + piece->second) {
      throw std::logic_error("a block reaches beyond its piece of the device's memory");
    }
    if (reinterpret_cast<std::uintptr_t>(block.address()) % kAlignmentBytes != 0) {
      throw std::logic_error(fmt::format("a block is not aligned to {} bytes", kAlignmentBytes));
    }
  }

  // Throws std::logic_error unless everything was returned as it was handed out.
  void require_empty() const {
    if (!fault_.empty()) throw std::logic_error(fault_);
    if (!pieces_.empty()) {
      throw std::logic_error(
          fmt::format("the allocator's end leaves {} pieces with the device", pieces_.size()));
    }
  }

 private:
  SimulatedDevice device_;
  std::map<std::byte*, std::size_t> pieces_;
  std::string fault_;
};

// One step of a run: requests and frees in the order of their ticks.
void run_step(const Trace& trace, Allocator& allocator, const WatchedDevice& device) {
  std::map<Tick, std::vector<std::size_t>> begins, ends;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    begins[trace.blocks[k].lower].push_back(k);
    ends[trace.blocks[k].upper].push_back(k);
  }
  std::map<std::size_t, Block> live;
  for (Tick tick = 0; tick <= ends.rbegin()->first; ++tick) {
    for (const std::size_t k : ends[tick]) live.erase(k);
    for (const std::size_t k : begins[tick]) {
      device.require_within(live[k] = allocator.allocate(trace.blocks[k].bytes));
    }
  }
}

// What one run of one allocator cost.
struct RunCost {
  std::uint64_t requests = 0, device_calls = 0;
  std::uint64_t peak_bytes = 0;  // taken from the device; of several runs, the sum

  RunCost& operator+=(const RunCost& other) {
    requests += other.requests;
    device_calls += other.device_calls;
    peak_bytes += other.peak_bytes;
    return *this;
  }
};

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

RunCost cost_of(const AllocatorMaker& make, std::uint64_t seed) {
  RunCost cost;
  WatchedDevice device;
  {
    const std::unique_ptr<Allocator> allocator = make(device);
    CheckingAdaptor checked(*allocator);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const Trace trace = training_trace(seed * kSteps + step, 25, 1 << 20);
      checked.begin_step(step);
      run_step(trace, checked, device);
      checked.end_step();
      cost.requests += trace.size();
    }
  }
  device.require_empty();
  cost.device_calls = device.statistics().allocations;
  cost.peak_bytes = device.statistics().peak_reserved_bytes;
  return cost;
}

std::unique_ptr<Allocator> make_pool(Device& device) {
  return std::make_unique<BestFitPool>(device);
}

}  // namespace

LabScore score_allocator(const AllocatorMaker& make, std::uint64_t seed) {
  std::string fault;
  RunCost all, pools;
  for (std::uint64_t k = 0; k < kRuns && fault.empty(); ++k) {
    try {
      const RunCost cost = cost_of(make, seed * kRuns + k);
      const RunCost pool = cost_of(make_pool, seed * kRuns + k);
      all += cost;
      pools += pool;
    } catch (const std::exception& error) {
      fault = fmt::format("run {}: {}", k, error.what());
    }
  }
  const bool valid = fault.empty();
  const double calls = share_of(all.device_calls, all.requests);
  const double bytes = share_of(all.peak_bytes, pools.peak_bytes);
  const auto seen = [valid](std::string text) { return valid ? std::move(text) : ""; };
  const bool pooled = valid && calls <= 0.1;
  const std::string share = seen(fmt::format("{:.2f} of the pool's", bytes));
  return {.marks = {mark(fmt::format("{} runs without a fault", kRuns), 40, valid, fault),
                    mark("the device is called for at most 10 % of the requests", 20, pooled,
                         seen(fmt::format("{:.1f} %", 100 * calls))),
                    mark("and at most 1.5 times the best-fit pool's bytes are reserved", 20,
                         pooled && bytes <= 1.5, share),
                    mark("and at most its bytes", 20, pooled && bytes <= 1, share)}};
}

}  // namespace skyline
