#include "train/run_folder/new_run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <system_error>

#include "train/checkpoints/files.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw WriteError(path, error.value());
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

}  // namespace

fs::path new_run_folder(const std::optional<fs::path>& out, std::string_view model,
                        const fs::path& parent) {
  if (!out) return make_named(parent, model);
  make_given(*out);
  return *out;
}

}  // namespace skyline
