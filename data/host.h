#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// Reading data needs these of its host: an error, memory, threads, random numbers.

namespace skyline {

// Unusable data: a missing, truncated or mislabelled file, or options that no data set can serve.
// The message reads `[source] what` or `[source] what, got X, expected Y`.
class DataError : public std::runtime_error {
 public:
  DataError(std::string source, const std::string& what);
  DataError(std::string source, const std::string& what, const std::string& got,
            const std::string& expected);

  // The file, folder or data set at fault.
  const std::string& source() const noexcept { return source_; }

 private:
  std::string source_;
};

// Makes a file name fit on one line of a message: control characters become \n, \t or \x1b, and
// those of Unicode, which turn the direction of writing or are not seen, \u202e. All other bytes
// stay, so names of any language remain readable.
std::string printable(std::string_view name);
// The same for a text of lines: their ends and tabs stay.
std::string printable_lines(std::string_view text);

// Bytes that the operating system can still give.
struct HostMemory {
  std::uint64_t bytes = 0;
  std::string limit;  // the limit that decides: "memory.max of cgroup /jobs"; empty: the machine
};

// Returns the tightest limit of this process now; nothing without limits.
using HostLimitReader = std::optional<HostMemory> (*)();
// Sets the reader that available_host_memory() asks, besides the machine. The program calls it
// before it makes data; without it there are no limits.
void set_host_limit_reader(HostLimitReader reader);

// Returns the least of "MemAvailable" and "SwapFree" together and of what the limit leaves free;
// the largest number if neither is known. `meminfo` is a file as /proc/meminfo.
HostMemory available_host_memory(const std::filesystem::path& meminfo = "/proc/meminfo");

// Throws DataError when `bytes` of host memory are more than what is available: "[source] what
// takes 29.2 GiB of memory, but 21.0 GiB are available", or "... are free of memory.max of cgroup
// /jobs/7". Otherwise the system would end the process, without a word, when the bytes are written.
void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes);

// Calls work(worker, index) for every index below `count` on `threads` threads, or on as many as
// the system gives; the caller's thread is worker 0 and also calls progress(done) from time to
// time. After an exception no further index begins; at the end, the exception of the lowest index
// is rethrown.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t worker, std::size_t index)>& work,
                  const std::function<void(std::size_t done)>& progress = {});

// A counter-based generator with its seed inside: four random words for each (stream, counter), the
// same on every call. It is injected, so this room depends on no generator. Thread rule: may be
// called from several threads at once.
using RandomBits =
    std::function<std::array<std::uint32_t, 4>(std::uint64_t stream, std::uint64_t counter)>;

// The streams of this room. The top bit keeps them apart from streams that a run counts from 0.
enum class DataStream : std::uint64_t {
  kShuffle = 0x8000'0000'0000'0000,
  kShapesTrain = 0x8000'0000'0000'0001,
  kShapesTest = 0x8000'0000'0000'0002,
  kCrop = 0x8000'0000'0000'0003,
  kMeanOrder = 0x8000'0000'0000'0004,
  kBatchOrder = 0x8000'0000'0000'0005,
  kNumbersTrain = 0x8000'0000'0000'0006,
  kNumbersTest = 0x8000'0000'0000'0007,
  kSums = 0x8000'0000'0000'0008,
  kWindows = 0x8000'0000'0000'0009,
};

}  // namespace skyline
