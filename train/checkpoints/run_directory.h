#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoints/atomic_file.h"

namespace skyline {

// The folder of one run:
//   arguments.json          the options it was started with
//   log.jsonl               one JSON object per step, written immediately
//   epochs.csv              one row per epoch
//   trace.csv plan.csv graph.json report.html …  written as a whole, by replace()
//   checkpoints/            see checkpoint.h
// All writes throw WriteError and leave earlier content intact. The log is locked, so that only one
// process writes a run. Thread rule: one thread.
class RunDirectory {
 public:
  // Creates `out`, which must be empty or not exist (UsageError otherwise). Without `out`, creates
  // parent/<model>-<YYYYMMDD-HHMMSS>-<n> with the first free n from 1.
  static RunDirectory create(const std::optional<std::filesystem::path>& out,
                             std::string_view model, const std::filesystem::path& parent = "runs");

  // Resumes a run at a checkpoint: cuts log.jsonl after the last line with a "step" of at most
  // `steps`, and epochs.csv after `epochs` rows. Throws UsageError when `folder` contains no run.
  static RunDirectory resume(const std::filesystem::path& folder, std::int64_t steps,
                             std::int64_t epochs);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path best() const { return path_ / "best"; }  // same layout as checkpoints()

  void write_arguments(const nlohmann::ordered_json& arguments);

  // Appends one line; the object should begin with {"step": n, …}.
  void log_step(const nlohmann::ordered_json& line);

  // Appends one row. The keys of the first row become the header. Values are numbers, strings or
  // null (an empty cell). Throws std::logic_error when later keys differ.
  void log_epoch(const nlohmann::ordered_json& row);

  // Replaces a whole file of the run atomically.
  void replace(std::string_view name, std::string_view content) const;

 private:
  explicit RunDirectory(std::filesystem::path path);
  void open_log();
  std::filesystem::path path_;
  int log_ = -1;
  std::string epochs_csv_;  // the whole content
};

}  // namespace skyline
