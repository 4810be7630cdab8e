#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// A JSON value, initially an empty object. It is held by pointer, so that headers with such members
// do not include the JSON library, which takes two seconds to compile.
class StoredJson {
 public:
  StoredJson();
  StoredJson(const nlohmann::ordered_json& value);
  StoredJson(const StoredJson& other);
  StoredJson(StoredJson&& other) noexcept;
  StoredJson& operator=(StoredJson other) noexcept;
  ~StoredJson();

  nlohmann::ordered_json& operator*() noexcept { return *value_; }
  const nlohmann::ordered_json& operator*() const noexcept { return *value_; }
  nlohmann::ordered_json* operator->() noexcept { return value_.get(); }
  const nlohmann::ordered_json* operator->() const noexcept { return value_.get(); }

  bool operator==(const StoredJson& other) const;

 private:
  std::unique_ptr<nlohmann::ordered_json> value_;  // null only after a move
};

// Reads a file that holds a JSON object, such as arguments.json. Throws std::runtime_error if it
// cannot be read, and UsageError "FILE is damaged: it …".
StoredJson read_stored_json(const std::filesystem::path& file);

// An evaluation, as a run keeps it.
struct StoredEvaluation {
  std::int64_t step = 0;  // the step before it
  std::string text;
  std::map<std::string, double> metrics;  // infinities become NaN
  bool operator==(const StoredEvaluation&) const = default;
};

// In TrainingPosition::data: texts by name that the file of weights repeats as its metadata.
inline constexpr const char* kWeightsMetadata = "weights_metadata";

// The state of a run between two steps, except for tensors: all that the next step depends on.
struct TrainingPosition {
  std::int64_t step = 0;                // completed steps
  std::int64_t epoch = 0;               // completed epochs
  std::int64_t batch = 0;               // completed batches of the current epoch
  std::uint64_t order_seed = 0;         // for the order of samples
  std::uint64_t random_seed = 0;        // RandomStream::seed
  std::uint64_t random_next = 0;        // RandomStream::next
  std::map<std::string, double> best;   // best metrics so far; infinities become NaN
  double loss_sum = 0;                  // of the steps of the current epoch
  double last_loss = 0;                 // mean loss of the last whole epoch; 0 before its end
  std::uint64_t right = 0, images = 0;  // of the current epoch: those classified right, and all
  std::int64_t stale_evaluations = 0;   // since one was better than all before it
  std::optional<StoredEvaluation> evaluation;  // the latest one
  StoredJson data;                             // facts of the workload: class names, …
  StoredJson arguments;                        // the run's options
  bool operator==(const TrainingPosition&) const = default;
};

std::string to_text(const TrainingPosition& position);  // JSON

// Throws std::exception that names the field if one is missing, of another type, negative or
// greater than any run reaches.
TrainingPosition training_position_from(std::string_view text);

}  // namespace skyline
