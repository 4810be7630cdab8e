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
//   arguments.json          how it was started
//   log.jsonl               one JSON object a step, written through at once
//   epochs.csv              one row an epoch
//   trace.csv plan.csv report.html …  written whole, by replace()
//   checkpoints/            see checkpoint.h
// All writes throw WriteError; what was written before stays intact. One process writes a run:
// the log is locked. Thread rule: one thread.
class RunDirectory {
 public:
  // Makes `out`, which must not exist or be empty (UsageError otherwise); without `out` makes
  // parent/<model>-<YYYYMMDD-HHMMSS>-<n> with the first n from 1 that is free.
  static RunDirectory create(const std::optional<std::filesystem::path>& out,
                             std::string_view model, const std::filesystem::path& parent = "runs");

  // Takes up a run at a checkpoint: cuts log.jsonl after the last line whose "step" is at most
  // `steps`, and epochs.csv after `epochs` rows. Throws UsageError when `folder` holds no run.
  static RunDirectory resume(const std::filesystem::path& folder, std::int64_t steps,
                             std::int64_t epochs);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path best() const { return path_ / "best"; }  // laid out as checkpoints()

  void write_arguments(const nlohmann::ordered_json& arguments);

  // Appends one line; the object should begin with {"step": n, …}.
  void log_step(const nlohmann::ordered_json& line);

  // Appends one row; the first row's keys become the header. Values are numbers, strings or null
  // (an empty cell). Throws std::logic_error when later keys differ.
  void log_epoch(const nlohmann::ordered_json& row);

  // Writes a whole file of the run: at every moment the old or the new one stands there.
  void replace(std::string_view name, std::string_view content) const;

 private:
  explicit RunDirectory(std::filesystem::path path);
  void open_log();
  std::filesystem::path path_;
  int log_ = -1;
  std::string epochs_csv_;  // whole content
};

}  // namespace skyline
