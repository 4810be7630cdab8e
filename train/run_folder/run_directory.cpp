#include "train/run_folder/run_directory.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

#include "memory/formats/csv/csv_reader.h"
#include "memory/formats/json_reader.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool same_folder(const fs::path& path, int folder) {
  struct stat there = {}, mine = {};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(folder, &mine) == 0 &&
         there.st_dev == mine.st_dev && there.st_ino == mine.st_ino;
}

constexpr const char* kArguments = "arguments.json";
constexpr const char* kLog = "log.jsonl";
constexpr const char* kEvaluations = "evaluations.jsonl";
constexpr const char* kEpochs = "epochs.csv";

// All that a run writes.
constexpr const char* kNames[] = {kArguments,
                                  kLog,
                                  kEvaluations,
                                  kEpochs,
                                  "trace.csv",
                                  "plan.csv",
                                  "graph.json",
                                  "report.html",
                                  "profile.json",
                                  "engines.json",
                                  "checkpoints",
                                  "best",
                                  "mean.safetensors",
                                  "source.vocabulary.txt",
                                  "target.vocabulary.txt"};

// Throws WriteError if one of them is a link out of the folder.
void check_links_in(const OpenFolder& folder) {
  for (const char* name : kNames) folder.own(name);
}

OpenFolder opened(const fs::path& path) {
  OpenFolder folder(path);
  check_links_in(folder);
  return folder;
}

// Returns the step of a log's line; nothing if the line is damaged.
std::optional<std::int64_t> step_of(const Json& line) {
  const auto step = line.is_object() ? line.find("step") : line.end();
  if (step == line.end() || !step->is_number_integer()) return {};
  return step->get<std::int64_t>();
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? csv_field(value.get<std::string>()) : value.dump();
}

// Renames a file to the first free "epochs-<n>.csv"; returns the new name.
std::string put_aside(const fs::path& file) {
  for (int number = 1;; ++number) {
    const std::string name =
        fmt::format("{}-{}{}", file.stem().string(), number, file.extension().string());
    if (fs::exists(fs::symlink_status(file.parent_path() / name))) continue;
    fs::rename(file, file.parent_path() / name);
    sync_directory(file.parent_path());
    return name;
  }
}

bool holds_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator entries(folder, ignored);
  return std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with("step-") &&
           entry.path().extension() != ".tmp";
  });
}

fs::path parent_of(const fs::path& path) {
  const fs::path named = path.has_filename() ? path : path.parent_path();  // "runs/x/"
  return named.has_parent_path() ? named.parent_path() : fs::path(".");
}

// Makes a folder whose name outlives a crash of the machine, with those above it, on the way to
// `wanted`. Returns whether this process made it.
bool make_folder(const fs::path& path, const fs::path& wanted) {
  std::error_code error;
  if (fs::is_directory(path, error)) return false;
  if (!fs::exists(parent_of(path), error)) make_folder(parent_of(path), wanted);
  const bool made = fs::create_directory(path, error);
  if (error) throw WriteError(wanted, error.value());
  // A folder that may not be listed cannot be synced either.
  if (::access(parent_of(path).c_str(), R_OK) == 0) sync_directory(parent_of(path));
  return made;
}

// True if a start that failed at once left nothing but an empty log in the folder.
bool is_unused(const fs::path& folder) {
  return std::ranges::all_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
    return entry.path().filename() == fmt::format("arguments.json{}", kTemporaryEnding) ||
           (entry.path().filename() == "log.jsonl" && entry.is_regular_file() &&
            !entry.is_symlink() && entry.file_size() == 0);
  });
}

void make_given(const fs::path& out) {
  std::error_code ignored;
  if (fs::exists(out, ignored)) {
    if (!fs::is_directory(out)) {
      throw UsageError(fmt::format("{} is a file; a run needs a folder", out.string()));
    }
    if (!is_unused(out)) {
      const bool is_run = fs::exists(out / "arguments.json", ignored);
      throw UsageError(fmt::format("{} is not empty; a run needs its own folder{}", out.string(),
                                   is_run ? "; to continue its run, give --resume" : ""));
    }
  }
  make_folder(out, out);
}

// Two runs that start in the same second get two folders.
fs::path make_named(const fs::path& parent, std::string_view model) {
  make_folder(parent, parent);
  const std::tm now = fmt::localtime(std::time(nullptr));
  for (int number = 1;; ++number) {
    const fs::path path = parent / fmt::format("{}-{:%Y%m%d-%H%M%S}-{}", model, now, number);
    if (make_folder(path, path)) return path;
  }
}

}  // namespace

OpenFolder::OpenFolder(fs::path path)
    : path_(std::move(path)), folder_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) throw WriteError(path_, errno);
  inside_ = fmt::format("/proc/self/fd/{}", int{folder_});
  if (!same_folder(inside_, folder_)) inside_ = path_;
}

fs::path OpenFolder::own(std::string_view name) const {
  const fs::path path = inside_ / name;
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const auto refuse = [&](const std::string& why) { throw WriteError(path_ / name, why); };
  const fs::path target = fs::canonical(path, error);
  if (error) {
    const std::string special = special_file(path);
    refuse(special.empty() ? error.message() : special);
  }
  const fs::path below = target.lexically_relative(fs::canonical(inside_));
  if (*below.begin() == "..") {
    refuse(fmt::format("it is a link to {}, outside the run folder", target.string()));
  }
  return inside_ / below;
}

fs::path OpenFolder::shown(const fs::path& path) const {
  const auto [end, rest] = std::ranges::mismatch(inside_, path);
  if (end != inside_.end()) return path;
  fs::path result = path_;
  for (auto name = rest; name != path.end(); ++name) result /= *name;
  return result;
}

bool OpenFolder::in_place() const { return same_folder(path_, folder_); }

std::optional<fs::path> OpenFolder::place() const {
  if (in_place()) return path_;
  std::error_code error;
  // The kernel keeps the path of an open folder up to date.
  const fs::path now = fs::read_symlink(fmt::format("/proc/self/fd/{}", int{folder_}), error);
  if (error || !same_folder(now, folder_)) return {};
  return now;
}

RunDirectory::RunDirectory(const fs::path& path)
    : folder_(opened(path)), log_(open(kLog)), log_path_(path / kLog) {
  if (!log_.lock()) {
    throw UsageError(fmt::format("another process is writing {}", path.string()));
  }
}

RunDirectory RunDirectory::create(const std::optional<fs::path>& out, std::string_view model,
                                  const fs::path& parent) {
  return RunDirectory(new_run_folder(out, model, parent));
}

RunDirectory RunDirectory::resume(const fs::path& folder, const ResumePoint& point,
                                  const LogReaders& readers) {
  const auto holds = [&folder](const char* name) {
    return fs::exists(fs::symlink_status(folder / name));
  };
  if (!holds(kArguments) && !holds("checkpoints") && !holds("best")) {
    throw UsageError(fmt::format("{} is not a run: {} is missing", folder.string(), kArguments));
  }
  RunDirectory run(folder);  // takes the lock before anything is cut
  run.cut_steps(run.log_, kLog, point.steps, readers.step);
  if (point.evaluated_step > 0 || holds(kEvaluations)) {
    LogFile evaluations = run.open(kEvaluations);
    run.cut_steps(evaluations, kEvaluations, point.evaluated_step, readers.evaluation);
  }
  run.cut_epochs(point.epochs);
  return run;
}

void RunDirectory::check_links(const fs::path& folder) { opened(folder); }

LogFile RunDirectory::open(std::string_view name) const {
  return LogFile(named(name), path() / name);
}

// A line that a fault damaged must not take the later ones with it, so the file is cut after the
// last good line of a step that was done.
void RunDirectory::cut_steps(LogFile& file, std::string_view name, std::int64_t last_step,
                             const std::function<void(const Json&)>& reader) {
  std::uint64_t kept_bytes = 0;
  std::int64_t number = 0, before = 0, damaged = 0, first_damaged = 0;
  file.for_each_line([&](std::string_view line, std::uint64_t end) {
    ++number;
    const Json parsed = ordered_json_or_null(line);
    const auto step = step_of(parsed);
    if (step && *step > last_step) return true;
    if (!step || *step <= before) {
      if (++damaged == 1) first_damaged = number;
      return true;
    }
    before = *step;
    kept_bytes = end;
    if (reader) reader(parsed);
    return true;
  });
  file.cut(kept_bytes);
  if (before < last_step) {
    warnings_.push_back(
        fmt::format("{} ends after step {} of {}", (path() / name).string(), before, last_step));
  }
  if (damaged == 0) return;
  warnings_.push_back(
      fmt::format("{}: {} damaged line{} skipped, the first is line {}; all others are kept",
                  (path() / name).string(), damaged, damaged == 1 ? "" : "s", first_damaged));
}

void RunDirectory::cut_epochs(std::int64_t epochs) {
  std::int64_t rows = -1;  // without the header
  if (fs::exists(fs::symlink_status(named(kEpochs)))) {
    LogFile file = open(kEpochs);
    std::uint64_t kept_bytes = 0;
    file.for_each_line([&](std::string_view, std::uint64_t end) {
      kept_bytes = end;
      return ++rows < epochs;
    });
    file.cut(kept_bytes);
  }
  if (std::max<std::int64_t>(rows, 0) == epochs) return;
  warnings_.push_back(fmt::format("{} has {} of {} epochs", (path() / kEpochs).string(),
                                  std::max<std::int64_t>(rows, 0), epochs));
}

bool RunDirectory::has_arguments() const {
  if (!fs::exists(fs::symlink_status(named(kArguments)))) return false;
  if (const std::string special = special_file(named(kArguments)); !special.empty()) {
    throw WriteError(path() / kArguments, special);
  }
  return ordered_json_or_null(read_file(named(kArguments))).is_object();
}

void RunDirectory::write_arguments(const Json& arguments) {
  // A path that is not UTF-8 must not stop the run.
  replace(kArguments, arguments.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RunDirectory::log_step(const Json& line) { log_.append(line.dump()); }

void RunDirectory::log_evaluation(const Json& line) { open(kEvaluations).append(line.dump()); }

void RunDirectory::log_epoch(const Json& row) {
  std::vector<std::string> names, values;
  for (const auto& [key, value] : row.items()) {
    names.push_back(csv_cell(key));
    values.push_back(csv_cell(value));
  }
  const std::string header = fmt::format("{}", fmt::join(names, ","));
  LogFile file = open(kEpochs);
  file.end_line();
  if (file.bytes() > 0 && file.first_line() != header) {
    const std::string aside = put_aside(folder_.inside() / kEpochs);
    warnings_.push_back(fmt::format("{} has other columns than this run writes, so it is now {}",
                                    (path() / kEpochs).string(), aside));
    file = open(kEpochs);
  }
  const std::string text = fmt::format("{}", fmt::join(values, ","));
  file.append(file.bytes() == 0 ? header + '\n' + text : text);
}

void RunDirectory::replace(std::string_view name, std::string_view content) const {
  const std::string special = special_file(named(name));
  if (!special.empty()) throw WriteError(path() / name, special);
  writing([&] { write_atomically(named(name), content); });
}

void RunDirectory::writing(const std::function<void()>& act) const {
  check_links_in(folder_);
  try {
    act();
  } catch (const WriteError& error) {
    if (error.error_number() == 0) throw;
    throw WriteError(folder_.shown(error.path()), error.error_number());
  } catch (const fs::filesystem_error& error) {
    throw WriteError(folder_.shown(error.path1()), error.code().value());
  }
}

// Every step calls this, so the usual case costs one system call: if the log is there, so is the
// folder.
void RunDirectory::check() const {
  if (log_.is_at(log_path_)) return;
  if (!folder_.in_place()) {
    const auto now = place();
    throw RunFolderLost(
        now ? fmt::format("the run folder {} was moved to {} during the run", path().string(),
                          now->string())
            : fmt::format(
                  "the run folder {} was removed during the run; nothing of it can be saved",
                  path().string()));
  }
  throw RunFolderLost(
      fmt::format("{} was moved, replaced or removed during the run", log_path_.string()));
}

std::optional<StoredJson> arguments_of_unsaved_run(const fs::path& folder) {
  std::error_code ignored;
  const fs::path file = folder / kArguments;
  if (!fs::exists(file, ignored) || holds_checkpoint(folder / "checkpoints") ||
      holds_checkpoint(folder / "best")) {
    return {};
  }
  try {
    return read_stored_json(file);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}, and the run has no checkpoint", error.what()));
  }
}

fs::path new_run_folder(const std::optional<fs::path>& out, std::string_view model,
                        const fs::path& parent) {
  if (!out) return make_named(parent, model);
  make_given(*out);
  return *out;
}

}  // namespace skyline
