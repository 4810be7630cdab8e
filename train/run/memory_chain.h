#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "framework/compute.h"
#include "memory/adaptors/adaptor.h"
#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/device/device.h"
#include "memory/replay/recorded_run.h"
#include "memory/session/session.h"
#include "train/options/memory_options.h"

namespace skyline {

// The allocator of dry runs, which hands out addresses without bytes and records the run. Users
// cannot select it.
inline constexpr std::string_view kRunRecorder = "run-recorder";

class AdvisedPlans;  // of a session

// Who watches a run's memory, and how its steps differ.
struct MemoryWatch {
  SessionListener listener = {};  // of the planned allocator
  bool record = false;            // keeps the trace of the last step; dry runs always do
  bool shadow_pool = false;       // a pool serves the same requests, to be compared with
  Matching matching = Matching::kByPosition;  // of the planned allocator
  bool timed = false;                         // times every call
};

// A device, an allocator on it and the adaptors that the options select:
//
//   device ← allocator or session ← shadow pool ← recording ← statistics ← checking ← guard ← limit
//   ← context
//
// Guard bytes are therefore recorded, planned and counted too.
class MemoryChain {
 public:
  // `compute`, if it defers ops, uses the memory: it goes back once they are done. Throws
  // std::invalid_argument for an unknown name, OutOfMemory.
  explicit MemoryChain(const MemoryOptions& options, const MemoryWatch& watch = {},
                       std::shared_ptr<Compute> compute = nullptr);
  MemoryChain(const MemoryChain&) = delete;
  MemoryChain& operator=(const MemoryChain&) = delete;
  ~MemoryChain();

  Allocator& allocator() noexcept { return *outermost_; }
  Device& device() noexcept { return *device_; }
  const Device& device() const noexcept { return *device_; }
  // Null unless the allocator is `planned`.
  Session* session() noexcept { return session_; }
  const Session* session() const noexcept { return session_; }
  // Null unless the allocator is kRunRecorder.
  RunRecorder* recorder() noexcept { return recorder_; }
  // Null unless the watch records.
  const RecordingAdaptor* recording() const noexcept { return recording_.get(); }
  bool guarded() const noexcept { return guard_ != nullptr; }
  // The most bytes that the shadow pool reserved at once; empty unless the watch has one.
  std::optional<std::uint64_t> shadow_pool_peak_bytes() const;

  // These do nothing unless the runner of `compute` advises plans; see AdvisedPlans.
  void give_advice_room(std::uint64_t most_bytes);
  void suit_advice();

  const StatisticsAdaptor& calls() const noexcept { return *calls_; }
  // Statistics of the allocator itself, below all adaptors.
  Statistics statistics() const { return base_->statistics(); }

 private:
  std::unique_ptr<Session> make_session(const MemoryOptions& options, const MemoryWatch& watch);

  template <typename T, typename... Arguments>
  std::unique_ptr<T> wrap(Arguments... arguments) {
    auto adaptor = std::make_unique<T>(*outermost_, arguments...);
    outermost_ = adaptor.get();
    return adaptor;
  }

  std::shared_ptr<AdvisedPlans> advised_;  // null: nobody advises, or no session
  std::unique_ptr<Device> device_;
  std::unique_ptr<Allocator> base_;
  Session* session_ = nullptr;
  RunRecorder* recorder_ = nullptr;
  Allocator* outermost_ = nullptr;
  struct ShadowPool;
  std::unique_ptr<ShadowPool> shadow_pool_;
  std::unique_ptr<RecordingAdaptor> recording_;
  std::unique_ptr<StatisticsAdaptor> calls_;
  std::unique_ptr<CheckingAdaptor> checking_;
  std::unique_ptr<GuardAdaptor> guard_;
  std::unique_ptr<LimitAdaptor> limit_;
};

}  // namespace skyline
