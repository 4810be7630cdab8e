#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/checkpoints/files.h"
#include "train/checkpoints/training_position.h"
#include "train/run_folder/log_file.h"

namespace skyline {

// A folder that stays open, so that writing into it goes on reaching it wherever it is moved and
// never makes another of its name.
//
//   const OpenFolder folder("runs/x");
//   write_atomically(folder.own("report.html"), page);
class OpenFolder {
 public:
  // Throws WriteError.
  explicit OpenFolder(std::filesystem::path path);

  const std::filesystem::path& path() const noexcept { return path_; }  // as given
  // A path that leads to the folder through its descriptor. Without /proc: path().
  const std::filesystem::path& inside() const noexcept { return inside_; }
  // Returns where to write the file or folder `name` in this folder. A link may stand for it that
  // leads to another place in the folder; throws WriteError if it leads out of it or nowhere.
  std::filesystem::path own(std::string_view name) const;
  // Returns a path below inside() as a path below path(), for messages.
  std::filesystem::path shown(const std::filesystem::path& path) const;

  // True while path() leads to this folder.
  bool in_place() const;
  // Returns where the folder lies now; nothing if it was removed.
  std::optional<std::filesystem::path> place() const;

 private:
  std::filesystem::path path_, inside_;
  Descriptor folder_;
};

// Someone moved or removed a run's folder, or its log, while the run wrote to it.
class RunFolderLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The point at which a run resumes.
struct ResumePoint {
  std::int64_t steps = 0;           // completed
  std::int64_t epochs = 0;          // completed
  std::int64_t evaluated_step = 0;  // the step before the latest evaluation
};

// Receive the lines that a resumed run keeps: of log.jsonl and of evaluations.jsonl, steps
// ascending.
struct LogReaders {
  std::function<void(const nlohmann::ordered_json&)> step, evaluation;
};

// The folder of one run:
//   arguments.json          the options it was started with
//   log.jsonl               one JSON object per step, written immediately
//   evaluations.jsonl       one JSON object per evaluation
//   epochs.csv              one row per epoch
//   trace.csv plan.csv graph.json report.html …  written as a whole, by replace()
//   checkpoints/            see checkpoint.h
// All writes throw WriteError and leave earlier content intact. They go into the folder that was
// opened, even if it is moved meanwhile, and never through a link out of it. The log is locked, so
// that only one process writes a run. Thread rule: one thread.
class RunDirectory {
 public:
  // Makes a new folder; see new_run_folder().
  static RunDirectory create(const std::optional<std::filesystem::path>& out,
                             std::string_view model, const std::filesystem::path& parent = "runs");

  // Resumes a run: cuts log.jsonl and evaluations.jsonl after the last line of a step that was
  // done or evaluated, and epochs.csv after the last completed epoch. Damaged lines stay in the
  // files and are not given to `readers`; take_warnings() tells them and what is missing. Throws
  // UsageError when `folder` contains no run.
  static RunDirectory resume(const std::filesystem::path& folder, const ResumePoint& point,
                             const LogReaders& readers = {});

  // Throws WriteError if what a run writes in `folder` would go through a link out of it. All
  // members check this, too; here a run asks before it prepares to resume.
  static void check_links(const std::filesystem::path& folder);

  const std::filesystem::path& path() const noexcept { return folder_.path(); }
  // For writing; they stay right when the folder is moved.
  std::filesystem::path checkpoints() const { return folder_.own("checkpoints"); }
  std::filesystem::path best() const { return folder_.own("best"); }  // like checkpoints()

  // False if the file is missing or damaged.
  bool has_arguments() const;
  void write_arguments(const nlohmann::ordered_json& arguments);

  // Append one line; the object begins with {"step": n, …}.
  void log_step(const nlohmann::ordered_json& line);
  void log_evaluation(const nlohmann::ordered_json& line);

  // Appends one row. Keys are columns; values are numbers, strings or null (an empty cell). If the
  // file has other columns, because someone edited it, it is renamed to epochs-<n>.csv, which
  // warnings() tells, and a new one begins.
  void log_epoch(const nlohmann::ordered_json& row);

  // Replaces a whole file of the run atomically.
  void replace(std::string_view name, std::string_view content) const;
  // Calls `act`, which writes below path(), checkpoints() or best(). Its errors then name path().
  void writing(const std::function<void()>& act) const;

  // Throws RunFolderLost if path() or the log in it is no longer what this run writes.
  void check() const;
  // Returns the path that the folder has now; nothing if it was removed.
  std::optional<std::filesystem::path> place() const { return folder_.place(); }

  // Returns what the user should know about the files; each is told once.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  explicit RunDirectory(const std::filesystem::path& path);
  LogFile open(std::string_view name) const;
  std::filesystem::path named(std::string_view name) const { return folder_.own(name); }
  void cut_steps(LogFile& file, std::string_view name, std::int64_t last_step,
                 const std::function<void(const nlohmann::ordered_json&)>& reader);
  void cut_epochs(std::int64_t epochs);

  OpenFolder folder_;
  LogFile log_;
  std::filesystem::path log_path_;
  std::vector<std::string> warnings_;
};

// Returns the arguments of a run that was started and never saved, for instance because the disk
// was full; nothing for any other folder. Throws UsageError if they are damaged.
std::optional<StoredJson> arguments_of_unsaved_run(const std::filesystem::path& folder);

// Makes the folder of a new run and returns it. `out` must not exist, be empty, or hold no more
// than the empty log of a start that failed at once; throws UsageError otherwise. Without `out`,
// makes parent/<model>-<YYYYMMDD-HHMMSS>-<n> with the first free n from 1. Throws WriteError.
std::filesystem::path new_run_folder(const std::optional<std::filesystem::path>& out,
                                     std::string_view model, const std::filesystem::path& parent);

}  // namespace skyline
