#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/context.h"
#include "framework/step_recorder.h"

namespace skyline {

// How fast a device computes, for foreseen_seconds(). Only the relation of the two numbers decides
// what a budget recomputes.
struct DeviceSpeed {
  double flops = 0;             // a second, of products
  double bytes_per_second = 0;  // that ops read and write

  std::string text() const;  // "by a model: 150 GFLOP/s, 10 GB/s"
};

// What two cores with AVX-512 reach in a training step; for `cuda` the published figures of an H100
// (PCIe). Constants, because a measurement beside other programs is off by a factor of four, and
// the same command would plan another step each time. A profile has measured seconds.
DeviceSpeed assumed_speed(const std::string& device);

// Returns the share of its seconds that an op takes longer with the smaller engine. Direct kernels
// take about twice as long as Winograd's: 1.2 to 2.7 times with AVX-512, 1.4 to 5 times with AVX2
// (18 convolutions of 6 networks and their gradients).
double extra_share(const EngineUse& use);

// Returns the seconds that each op of a recorded step takes by a model: a device that first moves
// the bytes of all inputs and outputs of an op, and then multiplies. A weight multiplies once for
// each pixel or row of the op's result, in gradients of the result's gradient.
std::vector<double> foreseen_seconds(const RecordedStep& step, const DeviceSpeed& speed);

// Returns the bytes that the ops of a recorded step read and write: their inputs and outputs once,
// and what they read or write again. The seconds above leave out that each gradient of batch
// normalization reads the images and the gradient twice.
std::uint64_t moved_bytes(const RecordedStep& step);

inline constexpr const char* kProfileFile = "profile.json";  // in a run folder

// What a profile was measured with.
struct ProfileKey {
  std::string model, device;
  std::int64_t batch_size = 0, threads = 0;

  bool operator==(const ProfileKey&) const = default;
  std::string text() const;  // "resnet50 on cpu, batch 16, 2 threads"
};

// How long each op of a step takes, measured in the first steps of a run: the least of all steps,
// because other programs only make an op slower.
class StepProfile {
 public:
  explicit StepProfile(ProfileKey key) : key_(std::move(key)) {}
  // Reads a profile, or that of a run folder. Throws UsageError if the file is none, or was
  // measured with something else than `key`.
  static StepProfile read(const std::filesystem::path& path, const ProfileKey& key);

  int steps() const noexcept { return steps_; }
  // Adds a step.
  void add(const std::vector<OpTime>& times);
  // Returns the seconds of each op of a recorded step; views, uploads and downloads have none.
  // Throws UsageError for an op that was not measured.
  std::vector<double> seconds(const RecordedStep& step) const;

  nlohmann::ordered_json json() const;

 private:
  // Phase, name and layer. Ops that share these are told apart by their turn.
  using Op = std::tuple<Phase, std::string, std::string>;

  ProfileKey key_;
  int steps_ = 0;
  std::map<Op, std::vector<double>> seconds_;
};

// Measures how long the ops of a run's first steps take.
class StepProfiler {
 public:
  explicit StepProfiler(ProfileKey key) : profile_(std::move(key)) {}

  // Times the ops of the coming step if it is among the first ones of the run, of which `done` have
  // run before.
  void begin_step(Context& context, std::int64_t done);
  // Returns the profile after the last of these steps. Steps differ in their ops if batches do and
  // LSTMs are unrolled; the longest has all of them.
  std::optional<nlohmann::ordered_json> end_step();

 private:
  StepProfile profile_;
  std::vector<OpTime> times_;  // of the running step
  bool times_ops_ = false, is_last_ = false;
};

// How long each op of a recorded step takes, and where that is from: "by a model: 150 GFLOP/s,
// 10 GB/s", "by the profile of runs/lenet".
struct StepSeconds {
  std::function<std::vector<double>(const RecordedStep&)> of;
  std::string source;
  // By the model of the device; a profile has no ops of other batches.
  std::function<std::vector<double>(const RecordedStep&)> of_other_batches = {};
};

// Takes the seconds from a profile, which must be that of `key`, or without one (empty) from a
// model of the device. Throws UsageError.
StepSeconds step_seconds(const std::string& profile, const ProfileKey& key);

// Returns the seconds of the ops of a step that may sum gradients early or run chains in rounds,
// from those of the same step that does neither. A sum takes as long for each value that it reads
// or writes as the late ones of its layer, a chain as long as the ops that its calls stand for. Ops
// of both steps are in the program's sequence.
std::vector<double> saving_seconds(const RecordedStep& saving, const RecordedStep& whole,
                                   const std::vector<double>& whole_seconds);

}  // namespace skyline
