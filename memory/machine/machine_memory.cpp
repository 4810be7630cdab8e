#include "memory/machine/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace skyline {
namespace {

namespace fs = std::filesystem;

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::size_t kUnlimitedBytes = std::size_t{1} << 62;

// Reads a number; nothing for a missing file and for "max".
std::optional<std::size_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::size_t number = 0;
  if (!(in >> number)) return {};
  return number;
}

std::optional<std::size_t> limit_in(const fs::path& file) {
  const auto bytes = number_in(file);
  return bytes && *bytes < kUnlimitedBytes ? bytes : std::nullopt;
}

// Sums the pages of files on both of the kernel's lists. `prefix` is "total_" in version 1, where
// the plain names leave out the cgroups below.
std::size_t file_cache_bytes(const fs::path& statistics, const std::string& prefix) {
  std::ifstream in(statistics);
  std::size_t sum = 0, bytes = 0;
  for (std::string name; in >> name >> bytes;) {
    if (name == prefix + "inactive_file" || name == prefix + "active_file") sum += bytes;
  }
  return sum;
}

// True if a list such as "cpu,memory" has `controller`.
bool lists(std::string_view list, std::string_view controller) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == controller) return true;
    begin = end + 1;
  }
  return false;
}

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

struct MappedPages {
  std::size_t all = 0, data = 0;
};

// Columns 1 and 6 of statm. The latter counts stacks, too, as RLIMIT_DATA nearly does.
MappedPages mapped_pages() {
  std::ifstream in("/proc/self/statm");
  MappedPages pages;
  std::size_t resident = 0, shared = 0, text = 0, library = 0;
  in >> pages.all >> resident >> shared >> text >> library >> pages.data;
  return pages;
}

std::optional<MemoryLimit> limit_of(decltype(RLIMIT_AS) resource, const char* name,
                                    std::size_t used_pages) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return MemoryLimit{name, limit.rlim_cur, used_pages * page_bytes()};
}

}  // namespace

CgroupLimits::CgroupLimits(const fs::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  const fs::path mounted = root / "sys/fs/cgroup";
  // Lines such as "4:cpu,memory:/jobs/7"; in version 2, "0::/jobs/7".
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string cgroup = line.substr(second + 1);
    if (controllers.empty()) {
      add_all(mounted, cgroup, true);
      add_all(mounted / "unified", cgroup, true);
    } else if (lists(controllers, "memory")) {
      add_all(mounted / "memory", cgroup, false);
    }
  }
}

// Goes up from the cgroup to `base`. In a container, the path may be the host's: folders that do
// not exist are passed, and `base` is the container's own cgroup.
void CgroupLimits::add_all(const fs::path& base, const std::string& cgroup, bool second_version) {
  const auto add = [&](const fs::path& shown, const char* limit, const char* usage,
                       const char* prefix) {
    const fs::path folder = base / shown.relative_path();
    if (!limit_in(folder / limit)) return;
    limited_.push_back({.name = std::string(limit) + " of cgroup " + shown.string(),
                        .folder = folder,
                        .limit = limit,
                        .usage = usage,
                        .statistics_prefix = prefix});
  };
  for (fs::path shown = fs::path("/" + cgroup).lexically_normal();; shown = shown.parent_path()) {
    if (second_version) {
      add(shown, "memory.max", "memory.current", "");
      add(shown, "memory.high", "memory.current", "");
    } else {
      add(shown, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
    }
    if (!shown.has_relative_path()) return;
  }
}

std::vector<MemoryLimit> CgroupLimits::now() const {
  std::vector<MemoryLimit> limits;
  for (const Files& files : limited_) {
    const auto limit_bytes = limit_in(files.folder / files.limit);
    if (!limit_bytes) continue;  // lifted since
    const std::size_t used_bytes = number_in(files.folder / files.usage).value_or(0);
    const std::size_t cache_bytes =
        file_cache_bytes(files.folder / "memory.stat", files.statistics_prefix);
    limits.push_back({.name = files.name,
                      .limit_bytes = *limit_bytes,
                      .used_bytes = used_bytes - std::min(used_bytes, cache_bytes)});
  }
  return limits;
}

std::optional<MemoryLimit> address_limit() {
  return limit_of(RLIMIT_AS, "RLIMIT_AS (ulimit -v)", mapped_pages().all);
}

std::vector<MemoryLimit> process_limits() {
  std::vector<MemoryLimit> limits;
  if (const auto limit = address_limit()) limits.push_back(*limit);
  if (const auto limit = limit_of(RLIMIT_DATA, "RLIMIT_DATA (ulimit -d)", mapped_pages().data)) {
    limits.push_back(*limit);
  }
  return limits;
}

MemoryLimit refusing_limit(std::size_t bytes) {
  const int error = errno;
  const auto limit = tightest(process_limits());
  if (limit && limit->free_bytes() < bytes) return *limit;
  return {.name = std::generic_category().message(error), .limit_bytes = 0, .used_bytes = 0};
}

std::optional<MemoryLimit> tightest_limit(const fs::path& root) {
  std::vector<MemoryLimit> limits = CgroupLimits(root).now();
  for (MemoryLimit& limit : process_limits()) limits.push_back(std::move(limit));
  return tightest(limits);
}

MachineMemory machine_memory(const fs::path& root) {
  MachineMemory memory{.bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes()};
  const std::optional<MemoryLimit> limit = tightest_limit(root);
  if (!limit) return memory;
  const std::size_t free_bytes = limit->free_bytes();
  const std::size_t bytes = free_bytes - std::min(free_bytes, kKeptBytes);
  return bytes < memory.bytes ? MachineMemory{bytes, limit} : memory;
}

}  // namespace skyline
