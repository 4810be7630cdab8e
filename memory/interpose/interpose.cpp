// The functions of the C library that libskyline_run.so replaces, and those that programs call.
// glibc's other functions of this kind (valloc, reallocarray, getline, …) call these.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "memory/interpose/program_memory.h"

using skyline::ProgramMemory;

namespace {

// --- the next allocator: the C library's, or one that was preloaded behind this library ---

struct Next {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  std::size_t (*usable_size)(void*);
};
constinit Next next = {};

// dlsym() itself may allocate: it gets bytes of this buffer, whose frees do nothing.
alignas(64) constinit std::byte early[1 << 16] = {};
constinit std::atomic<std::size_t> early_bytes = 0;

bool is_early(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(early) <
         sizeof early;
}

void* take_early(std::size_t bytes) {
  const std::size_t needed =
      bytes > sizeof early ? sizeof early : ((bytes + 63) & ~std::size_t{63});
  const std::size_t begin = early_bytes.fetch_add(needed);
  return begin + needed <= sizeof early ? early + begin : nullptr;
}

template <typename Function>
void find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// False while dlsym() runs.
bool ready() {
  static constinit std::atomic<int> state = 0;  // 1: being found; 2: found
  if (state.load(std::memory_order_acquire) == 2) [[likely]]
    return true;
  if (state.exchange(1) == 1) return false;
  find(next.calloc, "calloc");
  find(next.realloc, "realloc");
  find(next.free, "free");
  find(next.posix_memalign, "posix_memalign");
  find(next.aligned_alloc, "aligned_alloc");
  find(next.memalign, "memalign");
  find(next.usable_size, "malloc_usable_size");
  find(next.malloc, "malloc");
  state.store(2, std::memory_order_release);
  return true;
}

// --- the program's memory ---

constinit std::size_t threshold_bytes = SIZE_MAX;  // nothing is large before the constructor ran
alignas(ProgramMemory) constinit std::byte storage[sizeof(ProgramMemory)] = {};

// Never destroyed: other threads and later destructors still call it.
ProgramMemory& memory() { return *std::launder(reinterpret_cast<ProgramMemory*>(storage)); }

// Before the constructor ran, it is all zeros and owns nothing.
bool is_ours(const void* address) { return memory().owns(address); }

void* request(std::size_t bytes, bool zeroed = false) {
  return bytes >= threshold_bytes ? memory().request(bytes, zeroed) : nullptr;
}

// Returns null for alignments that are the C library's to serve, or to refuse.
void* request_aligned(std::size_t alignment, std::size_t bytes) {
  if (bytes < threshold_bytes || !std::has_single_bit(alignment)) return nullptr;
  if (alignment <= ProgramMemory::kAlignment) return memory().request(bytes, false);
  if (!ProgramMemory::inside()) memory().note_alignment();
  return nullptr;
}

// Removes this library, the first that is preloaded, so that programs that this one starts run as
// ever.
void leave_environment() {
  unsetenv(skyline::kRunVariable);
  const char* const value = std::getenv("LD_PRELOAD");
  const std::string_view all = value == nullptr ? "" : value;
  const std::string_view ours = all.substr(0, all.find_first_of(": "));
  if (!ours.ends_with("libskyline_run.so")) return;
  const std::string rest(all.substr(std::min(ours.size() + 1, all.size())));
  rest.empty() ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", rest.c_str(), 1);
}

__attribute__((constructor)) void begin_program() {
  ready();
  skyline::RunOptions options;
  try {
    const char* const text = std::getenv(skyline::kRunVariable);
    options = skyline::RunOptions::read(text == nullptr ? "" : text);
    const std::size_t threshold = options.threshold_bytes;
    // A wrapper, such as env or a shell, may become the program: it stays the same process.
    if (options.process != 0 && options.process != static_cast<std::uint64_t>(getpid())) {
      return leave_environment();
    }
    new (storage) ProgramMemory(std::move(options));
    pthread_atfork([] { memory().before_fork(); }, [] { memory().after_fork(false); },
                   [] { memory().after_fork(true); });
    threshold_bytes = threshold < 1 ? 1 : threshold;
  } catch (const std::exception&) {
    // The C library serves everything.
  }
}

__attribute__((destructor)) void end_program() {
  if (threshold_bytes != SIZE_MAX) memory().finish();
}

}  // namespace

#define SKYLINE_EXPORT extern "C" __attribute__((visibility("default")))

// Objects of this library live as long as the process: the planner's thread may still use them.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}

SKYLINE_EXPORT void skyline_begin() {
  if (threshold_bytes != SIZE_MAX) memory().begin();
}
SKYLINE_EXPORT void skyline_announce_step() {
  if (threshold_bytes != SIZE_MAX) memory().announce_step();
}
SKYLINE_EXPORT void skyline_step_of(unsigned kind) {
  if (threshold_bytes != SIZE_MAX) memory().end_step(kind);
}
SKYLINE_EXPORT void skyline_step() { skyline_step_of(0); }

SKYLINE_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (void* const block = request(bytes)) return block;
  return ready() ? next.malloc(bytes) : take_early(bytes);
}

SKYLINE_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all)) {
    if (void* const block = request(all, true)) return block;
  }
  return ready() ? next.calloc(count, bytes) : take_early(all);
}

SKYLINE_EXPORT void free(void* address) noexcept {
  if (is_ours(address)) return memory().release(address);
  if (address != nullptr && !is_early(address)) next.free(address);
}

SKYLINE_EXPORT std::size_t malloc_usable_size(void* address) noexcept {
  if (is_ours(address)) return memory().bytes_of(address);
  return is_early(address) || !ready() ? 0 : next.usable_size(address);
}

SKYLINE_EXPORT void* realloc(void* address, std::size_t bytes) noexcept {
  if (address == nullptr) return malloc(bytes);
  const bool ours = is_ours(address), at_start = is_early(address);
  if (!ours && !at_start) return next.realloc(address, bytes);
  if (ours && bytes == 0) {
    free(address);
    return nullptr;
  }
  // The buffer does not know its blocks' sizes: what lies behind one may be copied, too.
  const std::size_t held =
      ours ? memory().bytes_of(address)
           : static_cast<std::size_t>(early + sizeof early - static_cast<std::byte*>(address));
  if (ours && bytes <= held && bytes >= held / 2 && bytes >= threshold_bytes) return address;
  void* const block = malloc(bytes);
  if (block == nullptr) return nullptr;
  std::memcpy(block, address, bytes < held ? bytes : held);
  free(address);
  return block;
}

SKYLINE_EXPORT int posix_memalign(void** address, std::size_t alignment,
                                  std::size_t bytes) noexcept {
  if (alignment % sizeof(void*) == 0) {
    if (void* const block = request_aligned(alignment, bytes)) {
      *address = block;
      return 0;
    }
  }
  return ready() ? next.posix_memalign(address, alignment, bytes) : ENOMEM;
}

SKYLINE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (void* const block = request_aligned(alignment, bytes)) return block;
  return ready() ? next.aligned_alloc(alignment, bytes) : nullptr;
}

SKYLINE_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (void* const block = request_aligned(alignment, bytes)) return block;
  return ready() ? next.memalign(alignment, bytes) : nullptr;
}
