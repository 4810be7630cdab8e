#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/adaptors/checking_adaptor.h"
#include "memory/adaptors/guard_adaptor.h"
#include "memory/adaptors/limit_adaptor.h"
#include "memory/adaptors/recording_adaptor.h"
#include "memory/adaptors/statistics_adaptor.h"
#include "memory/allocators/allocator_options.h"
#include "memory/device/device.h"
#include "memory/session/session.h"

namespace skyline {

// How a run gets its memory.
struct MemoryOptions {
  std::string device = "cpu";
  std::optional<std::uint64_t> capacity_bytes;  // of the device; unset: its own
  std::string allocator{kPlannedAllocator};
  AllocatorOptions allocator_options;
  std::string planner{kDefaultPlanner};
  ShapePolicy policy = ShapePolicy::kPerShape;
  int warmup_steps = 1;
  std::optional<std::uint64_t> limit_bytes;  // of live bytes
  bool guard = false;                        // guard bytes and poison
  bool check = false;                        // look at every hand-out
  bool timed = false;                        // time every call
  bool record = false;                       // keep the trace of the last step
  SessionListener listener;                  // of the planned allocator
};

// Every allocator by its name, `planned` last; aliases are left out.
std::vector<std::string> allocator_names();
// The same with aliases.
std::vector<std::string> allocator_names_and_aliases();
// The same with those that only a CUDA device has.
std::vector<std::string> training_allocator_names();
// Throws UsageError where `device` has no such allocator.
void check_device_of(const std::string& allocator, const std::string& device);
// The name behind an alias; any other name as it is.
std::string canonical_allocator_name(const std::string& name);

// "grow", "per-shape", "upper-bound".
const std::vector<std::string>& policy_names();
ShapePolicy policy_of(const std::string& name);
std::string policy_name(ShapePolicy policy);

// "planned-grow", "planned-per-shape", "planned-upper-bound": the planned allocator under each
// policy, where several are compared.
std::vector<std::string> planned_names();

// An allocator among several that are compared: "exact-pool", "planned-grow", "pool@1GiB".
struct ComparedAllocator {
  std::string allocator;                        // no alias; a policy is part of it
  std::optional<std::uint64_t> capacity_bytes;  // of its device; unset: that of all

  std::string name() const;  // "best-fit-pool@1GiB"
};
// Throws UsageError for a size that is none; the allocator's name is not looked at.
ComparedAllocator compared_allocator(const std::string& name);

// `memory` with the allocator, the policy and the capacity that the name says.
MemoryOptions with_policy(MemoryOptions memory, const std::string& name);

// A device, an allocator on it and the adaptors that were asked for, built in one place:
//
//   device ← allocator or session ← recording ← statistics ← checking ← guard ← limit ← context
//
// Guard bytes are thus part of what is recorded, planned and counted.
class MemoryChain {
 public:
  // Throws std::invalid_argument for an unknown name, OutOfMemory.
  explicit MemoryChain(const MemoryOptions& options);
  MemoryChain(const MemoryChain&) = delete;
  MemoryChain& operator=(const MemoryChain&) = delete;

  Allocator& allocator() noexcept { return *outermost_; }
  Device& device() noexcept { return *device_; }
  // Null unless the allocator is `planned`.
  Session* session() noexcept { return session_; }
  const Session* session() const noexcept { return session_; }
  // Null unless asked for.
  const RecordingAdaptor* recording() const noexcept { return recording_.get(); }
  const StatisticsAdaptor& calls() const noexcept { return *calls_; }
  // Of the allocator itself, below all adaptors.
  Statistics statistics() const { return base_->statistics(); }

 private:
  template <typename T, typename... Arguments>
  std::unique_ptr<T> wrap(Arguments... arguments) {
    auto adaptor = std::make_unique<T>(*outermost_, arguments...);
    outermost_ = adaptor.get();
    return adaptor;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Allocator> base_;
  Session* session_ = nullptr;
  Allocator* outermost_ = nullptr;
  std::unique_ptr<RecordingAdaptor> recording_;
  std::unique_ptr<StatisticsAdaptor> calls_;
  std::unique_ptr<CheckingAdaptor> checking_;
  std::unique_ptr<GuardAdaptor> guard_;
  std::unique_ptr<LimitAdaptor> limit_;
};

}  // namespace skyline
