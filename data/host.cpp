#include "data/host.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace skyline {
namespace {

std::string gibibytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB", static_cast<double>(bytes) * 0x1p-30);
  return text.data();
}

// Returns the bytes of the UTF-8 character at the start; 1 if it is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0xc2 || byte(0) > 0xf4 ? 1
                             : byte(0) < 0xe0                 ? 2
                             : byte(0) < 0xf0                 ? 3
                                                              : 4;
  if (text.size() < length) return 1;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 1;
  }
  return length;
}

// Returns a character as it is, or escaped if a terminal would obey it.
std::string shown(std::string_view character) {
  // Line and paragraph separators, marks that turn the direction of writing, the byte order mark.
  constexpr std::array<std::pair<unsigned, unsigned>, 4> kUnseen = {
      {{0x80, 0x9f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}}};
  const auto byte = [character](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(character[i]));
  };
  std::array<char, 8> escape{};
  if (character.size() == 1) {  // below 0x80, or a stray byte
    if ((byte(0) >= 0x20 && byte(0) < 0x7f) || byte(0) >= 0xa0) return std::string(character);
    std::snprintf(escape.data(), escape.size(), "\\x%02x", byte(0));
    return escape.data();
  }
  if (character.size() > 3) return std::string(character);
  const unsigned code = character.size() == 2
                            ? (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f)
                            : (byte(0) & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  for (const auto& [first, last] : kUnseen) {
    if (code < first || code > last) continue;
    std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
    return escape.data();
  }
  return std::string(character);
}

std::string escaped(std::string_view text, const char* line_end, const char* tab) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes);
    result += character == "\n" ? line_end : character == "\t" ? tab : shown(character);
    text.remove_prefix(bytes);
  }
  return result;
}

HostLimitReader limit_reader = nullptr;

std::uint64_t machine_bytes(const std::filesystem::path& meminfo) {
  std::ifstream facts(meminfo);
  std::string name, unit;
  std::uint64_t kibibytes = 0, available = 0;
  for (; facts >> name >> kibibytes; std::getline(facts, unit)) {
    if (name == "MemAvailable:" || name == "SwapFree:") available += kibibytes * 1024;
  }
  return available > 0 ? available : std::numeric_limits<std::uint64_t>::max();
}

// Indices begin in order, so the lowest index that fails is known at the end for any timing.
struct Run {
  const std::size_t count;
  const std::function<void(std::size_t, std::size_t)>& work;
  std::atomic<std::size_t> next = 0, done = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::size_t failed_index = 0;  // guarded by mutex
  std::exception_ptr failure;    // guarded by mutex

  // Returns false when no index is left to begin.
  bool step(std::size_t worker) {
    if (failed) return false;
    const std::size_t index = next++;
    if (index >= count) return false;
    try {
      work(worker, index);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure || index < failed_index) {
        failure = std::current_exception();
        failed_index = index;
      }
      failed = true;
    }
    ++done;
    return true;
  }
};

}  // namespace

DataError::DataError(std::string source, const std::string& what)
    : std::runtime_error("[" + source + "] " + what), source_(std::move(source)) {}

DataError::DataError(std::string source, const std::string& what, const std::string& got,
                     const std::string& expected)
    : DataError(std::move(source), what + ", got " + got + ", expected " + expected) {}

std::string printable(std::string_view name) { return escaped(name, "\\n", "\\t"); }

std::string printable_lines(std::string_view text) { return escaped(text, "\n", "\t"); }

void set_host_limit_reader(HostLimitReader reader) { limit_reader = reader; }

HostMemory available_host_memory(const std::filesystem::path& meminfo) {
  const HostMemory machine{.bytes = machine_bytes(meminfo), .limit = {}};
  const std::optional<HostMemory> limit = limit_reader ? limit_reader() : std::nullopt;
  return limit && limit->bytes < machine.bytes ? *limit : machine;
}

void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes) {
  const HostMemory available = available_host_memory();
  if (bytes <= available.bytes) return;
  throw DataError(source,
                  what + " takes " + gibibytes(bytes) + " of memory, but " +
                      gibibytes(available.bytes) + " are " +
                      (available.limit.empty() ? "available" : "free of " + available.limit));
}

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t worker, std::size_t index)>& work,
                  const std::function<void(std::size_t done)>& progress) {
  Run run{.count = count, .work = work};
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t worker = 1; worker < std::min(threads, count); ++worker) {
        others.emplace_back([&run, worker] {
          while (run.step(worker)) continue;
        });
      }
    } catch (const std::system_error&) {  // the system gives no more threads: fewer do the work
    }
    while (run.step(0)) {
      if (progress) progress(run.done);
    }
  }
  if (run.failure) std::rethrow_exception(run.failure);
}

}  // namespace skyline
