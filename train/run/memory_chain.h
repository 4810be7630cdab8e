#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// A device, an allocator on it and the adaptors that the options select:
//
//   device ← allocator or session ← recording ← statistics ← checking ← guard ← limit ← context
//
// Guard bytes are therefore recorded, planned and counted too.
class MemoryChain {
 public:
  // `compute`, if it defers ops, uses the memory: it goes back once they are done. Throws
  // std::invalid_argument for an unknown name, OutOfMemory.
  explicit MemoryChain(const MemoryOptions& options, std::shared_ptr<Compute> compute = nullptr);
  MemoryChain(const MemoryChain&) = delete;
  MemoryChain& operator=(const MemoryChain&) = delete;

  Allocator& allocator() noexcept { return *outermost_; }
  Device& device() noexcept { return *device_; }
  const Device& device() const noexcept { return *device_; }
  // Null unless the allocator is `planned`.
  Session* session() noexcept { return session_; }
  const Session* session() const noexcept { return session_; }
  // Null unless the allocator is kRunRecorder.
  const RunRecorder* recorder() const noexcept { return recorder_; }
  // Null unless `record` is set.
  const RecordingAdaptor* recording() const noexcept { return recording_.get(); }
  bool guarded() const noexcept { return guard_ != nullptr; }

  // These do nothing unless `compute` has lanes. Plans for lanes give blocks bytes that lanes do
  // not wait for, where there is room for such a plan; otherwise plans are those of one lane.
  //
  // Sets the room: what the device has beside the memory that is reserved now, and at most
  // `most_bytes`. Before it, there is none.
  void give_lanes_room(std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());
  // Gives lanes that have learned a step room, and replaces the plan that was made before. If there
  // is no room, the listener hears of it once. Call it after each step, unless the session adopts a
  // plan before each.
  void suit_lanes();

  const StatisticsAdaptor& calls() const noexcept { return *calls_; }
  // Statistics of the allocator itself, below all adaptors.
  Statistics statistics() const { return base_->statistics(); }

 private:
  // Plans of steps on lanes. The session's planner reads it, on its second thread, too.
  struct LanePlans {
    std::shared_ptr<Compute> compute;
    std::atomic<std::uint64_t> room_bytes = 0;     // for the arena
    std::atomic<std::uint64_t> refused_bytes = 0;  // a plan that was larger; 0: none
  };

  std::unique_ptr<Session> make_session(const MemoryOptions& options);
  static StepPlanner step_planner(const MemoryOptions& options,
                                  const std::shared_ptr<LanePlans>& plans);
  void replan_for_lanes();
  void tell_refused();

  template <typename T, typename... Arguments>
  std::unique_ptr<T> wrap(Arguments... arguments) {
    auto adaptor = std::make_unique<T>(*outermost_, arguments...);
    outermost_ = adaptor.get();
    return adaptor;
  }

  std::shared_ptr<LanePlans> lane_plans_;  // null: no lanes or no session
  std::size_t learned_ = 0;                // kinds of steps
  SessionListener tell_;                   // empty once it has heard of a refused plan
  std::unique_ptr<Device> device_;
  std::unique_ptr<Allocator> base_;
  Session* session_ = nullptr;
  RunRecorder* recorder_ = nullptr;
  Allocator* outermost_ = nullptr;
  std::unique_ptr<RecordingAdaptor> recording_;
  std::unique_ptr<StatisticsAdaptor> calls_;
  std::unique_ptr<CheckingAdaptor> checking_;
  std::unique_ptr<GuardAdaptor> guard_;
  std::unique_ptr<LimitAdaptor> limit_;
};

}  // namespace skyline
