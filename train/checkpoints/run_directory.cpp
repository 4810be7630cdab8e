#include "train/checkpoints/run_directory.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kArguments = "arguments.json";
constexpr const char* kLog = "log.jsonl";
constexpr const char* kEpochs = "epochs.csv";

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw WriteError(path, error.value());
}

void make_given(const fs::path& out) {
  std::error_code ignored;
  if (fs::exists(out, ignored)) {
    if (!fs::is_directory(out)) {
      throw UsageError(fmt::format("{} is a file; a run needs a folder", out.string()));
    }
    if (!fs::is_empty(out)) {
      throw UsageError(fmt::format("{} is not empty; a run needs its own folder", out.string()));
    }
  }
  make_folders(out);
}

// create_directory() tells whether this process made the folder, so two runs that start in the same
// second get two folders.
fs::path make_named(const fs::path& parent, std::string_view model) {
  make_folders(parent);
  const std::tm now = fmt::localtime(std::time(nullptr));
  for (int number = 1;; ++number) {
    const fs::path path = parent / fmt::format("{}-{:%Y%m%d-%H%M%S}-{}", model, now, number);
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error) throw WriteError(path, error.value());
  }
}

// Calls take(line) for each complete line, without its end, until it returns false.
template <typename Take>
void for_each_line(std::string_view text, Take take) {
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (!take(text.substr(0, end))) return;
    text.remove_prefix(end + 1);
  }
}

// Returns the lines of a log up to a step.
std::string log_until(std::string_view log, std::int64_t steps) {
  std::size_t length = 0;
  for_each_line(log, [&](std::string_view line) {
    const Json parsed = Json::parse(line, nullptr, false);
    const bool whole = parsed.is_object() && parsed.contains("step");
    if (!whole || !parsed["step"].is_number() || parsed["step"] > steps) return false;
    length += line.size() + 1;
    return true;
  });
  return std::string(log.substr(0, length));
}

// Returns the header and the first rows of a CSV file.
std::string rows_until(std::string_view csv, std::int64_t rows) {
  std::size_t length = 0;
  std::int64_t lines = 0;
  for_each_line(csv, [&](std::string_view line) {
    if (lines++ > rows) return false;
    length += line.size() + 1;
    return true;
  });
  return std::string(csv.substr(0, length));
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted(1, '"');
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted.append(1, '"');
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      log_(std::exchange(other.log_, -1)),
      epochs_csv_(std::move(other.epochs_csv_)) {}

RunDirectory& RunDirectory::operator=(RunDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(log_, other.log_);
  std::swap(epochs_csv_, other.epochs_csv_);
  return *this;
}

RunDirectory::~RunDirectory() {
  if (log_ >= 0) ::close(log_);
}

RunDirectory RunDirectory::create(const std::optional<fs::path>& out, std::string_view model,
                                  const fs::path& parent) {
  if (out) make_given(*out);
  RunDirectory run(out ? *out : make_named(parent, model));
  run.open_log();
  return run;
}

RunDirectory RunDirectory::resume(const fs::path& folder, std::int64_t steps, std::int64_t epochs) {
  if (!fs::exists(folder / kArguments)) {
    throw UsageError(fmt::format("{} is not a run: {} is missing", folder.string(), kArguments));
  }
  RunDirectory run(folder);
  run.open_log();  // takes the lock before anything is cut
  const std::string kept = log_until(read_file(folder / kLog), steps);
  if (::ftruncate(run.log_, static_cast<off_t>(kept.size())) != 0) {
    throw WriteError(folder / kLog, errno);
  }
  if (fs::exists(folder / kEpochs)) {
    run.epochs_csv_ = rows_until(read_file(folder / kEpochs), epochs);
    run.replace(kEpochs, run.epochs_csv_);
  }
  return run;
}

void RunDirectory::open_log() {
  const fs::path path = path_ / kLog;
  constexpr mode_t kReadableByAll = 0666;  // before the user's umask
  log_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kReadableByAll);
  if (log_ < 0) throw WriteError(path, errno);
  // The lock ends with the file descriptor, however the process ends.
  if (::flock(log_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw UsageError(fmt::format("another process is writing {}", path_.string()));
  }
}

void RunDirectory::write_arguments(const Json& arguments) {
  // A path that is not UTF-8 must not stop the run.
  replace(kArguments, arguments.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RunDirectory::log_step(const Json& line) {
  const std::string text = line.dump() + "\n";
  const off_t before = ::lseek(log_, 0, SEEK_END);
  try {
    write_all(log_, std::as_bytes(std::span(text)), path_ / kLog);
  } catch (const WriteError&) {
    // A full disk may have taken half a line. If cutting it off fails too, resume() will do it.
    [[maybe_unused]] const int ignored = ::ftruncate(log_, before);
    throw;
  }
}

void RunDirectory::log_epoch(const Json& row) {
  std::vector<std::string> names, values;
  for (const auto& [key, value] : row.items()) {
    names.push_back(csv_cell(key));
    values.push_back(csv_cell(value));
  }
  const std::string header = fmt::format("{}\n", fmt::join(names, ","));
  if (!epochs_csv_.empty() && !epochs_csv_.starts_with(header)) {
    throw std::logic_error("[epochs.csv] the columns changed to " + header);
  }
  const std::string before = epochs_csv_.empty() ? header : epochs_csv_;
  const std::string content = fmt::format("{}{}\n", before, fmt::join(values, ","));
  replace(kEpochs, content);
  epochs_csv_ = content;
}

void RunDirectory::replace(std::string_view name, std::string_view content) const {
  write_atomically(path_ / name, content);
}

}  // namespace skyline
