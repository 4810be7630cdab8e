#include "memory/machine/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace skyline {
namespace {

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

}  // namespace skyline
