#include "train/run_folder/open_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "train/checkpoints/files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

bool same_folder(const fs::path& path, int folder) {
  struct stat there = {}, mine = {};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(folder, &mine) == 0 &&
         there.st_dev == mine.st_dev && there.st_ino == mine.st_ino;
}

}  // namespace

OpenFolder::OpenFolder(fs::path path)
    : path_(std::move(path)), folder_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) throw WriteError(path_, errno);
  inside_ = fmt::format("/proc/self/fd/{}", folder_);
  if (!same_folder(inside_, folder_)) inside_ = path_;
}

OpenFolder::OpenFolder(OpenFolder&& other) noexcept
    : path_(std::move(other.path_)),
      inside_(std::move(other.inside_)),
      folder_(std::exchange(other.folder_, -1)) {}

OpenFolder& OpenFolder::operator=(OpenFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(inside_, other.inside_);
  std::swap(folder_, other.folder_);
  return *this;
}

OpenFolder::~OpenFolder() {
  if (folder_ >= 0) ::close(folder_);
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
  const fs::path now = fs::read_symlink(fmt::format("/proc/self/fd/{}", folder_), error);
  if (error || !same_folder(now, folder_)) return {};
  return now;
}

}  // namespace skyline
