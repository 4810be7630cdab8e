#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

}  // namespace skyline
