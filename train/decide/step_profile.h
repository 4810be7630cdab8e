#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/context.h"

namespace skyline {

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

}  // namespace skyline
