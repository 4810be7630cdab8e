// A program that calls every function of the C library's allocator in sizes around the threshold,
// before main() and after it, on threads and in forked children, and steps that it marks if it can.
// It says "right" unless a byte was lost or a function broke its contract.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tests/memory/interpose/random_threads.h"

namespace {

constexpr std::size_t kThreshold = 65536;
int wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++wrong;
  std::printf("wrong: %s\n", what);
}

using Step = void (*)(unsigned);
Step step_of() { return reinterpret_cast<Step>(dlsym(RTLD_DEFAULT, "skyline_step_of")); }

struct Heap {
  Step step = step_of();
  void* allocate(std::size_t bytes) {
    if (bytes % 3 != 0) return std::malloc(bytes);
    void* block = nullptr;
    return posix_memalign(&block, 64, bytes) == 0 ? block : nullptr;
  }
  void* allocate_zeroed(std::size_t bytes) { return std::calloc(bytes, 1); }
  void* resize(void* block, std::size_t bytes) {
    return bytes % 2 == 0 ? std::realloc(block, bytes) : reallocarray(block, 1, bytes);
  }
  void deallocate(void* block) { std::free(block); }
  void end_step(std::uint64_t kind) {
    if (step != nullptr) step(static_cast<unsigned>(kind));
  }
};

// Before main(), when the library may not have run its constructor yet, and after main().
struct Early {
  std::unique_ptr<char[]> large{new char[3 * kThreshold]()};
  ~Early() { expect(large[3 * kThreshold - 1] == 0, "a block from before main()"); }
} early;

void at_exit() {
  auto* const block = static_cast<char*>(std::malloc(4 * kThreshold));
  std::memset(block, 1, 4 * kThreshold);
  std::free(block);
  expect(early.large[0] == 0, "a block in atexit()");
  if (wrong > 0) std::_Exit(1);
}

void call_everything(std::size_t bytes) {
  errno = 7;
  std::vector<void*> blocks = {std::malloc(bytes),
                               std::calloc(3, bytes / 3 + 1),
                               std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                               memalign(256, bytes),
                               memalign(512, bytes),
                               memalign(65536, bytes),
                               valloc(bytes),
                               pvalloc(bytes),
                               std::realloc(nullptr, bytes)};
  for (const std::size_t alignment : {8, 16, 64, 128, 256, 512, 4096, 1 << 21}) {
    void* block = nullptr;
    expect(posix_memalign(&block, alignment, bytes) == 0, "posix_memalign()");
    expect(reinterpret_cast<std::uintptr_t>(block) % alignment == 0, "its alignment");
    blocks.push_back(block);
  }
  void* const untouched = blocks.data();
  void* block = untouched;
  expect(posix_memalign(&block, 24, bytes) == EINVAL && block == untouched, "no power of two");
  expect(posix_memalign(&block, 2, bytes) == EINVAL, "less than a pointer");
  expect(errno == 7, "errno after calls that succeed");
  const volatile std::size_t huge = SIZE_MAX / 2;  // the compiler must not see it
  expect(std::calloc(huge, 3) == nullptr && errno == ENOMEM, "calloc() overflows");
  expect(reallocarray(nullptr, huge, 3) == nullptr, "reallocarray() overflows");
  expect(std::malloc(huge) == nullptr && errno == ENOMEM, "more than there is");
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    expect(blocks[k] != nullptr, "a block");
    expect(malloc_usable_size(blocks[k]) >= bytes, "malloc_usable_size()");
    std::memset(blocks[k], static_cast<int>(k), bytes);
  }
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const std::size_t size = k % 2 == 0 ? bytes * 3 + 1 : bytes / 3 + 1;
    void* const moved = k < 9 ? std::realloc(blocks[k], size) : blocks[k];
    const auto* const bytes_of = static_cast<const unsigned char*>(moved);
    expect(bytes_of[0] == k && bytes_of[std::min(bytes, size) - 1] == k, "realloc() keeps bytes");
    std::free(moved);
  }
  std::free(std::malloc(0));
  std::free(std::realloc(std::malloc(bytes), bytes));
  std::free(nullptr);
}

// The child frees what it inherited, asks for more, and forks once more; the parent goes on.
void fork_in_a_step() {
  auto* const block = static_cast<char*>(std::malloc(5 * kThreshold));
  std::memset(block, 5, 5 * kThreshold);
  const pid_t child = fork();
  if (child == 0) {
    bool right = block[5 * kThreshold - 1] == 5;
    auto* const grown = static_cast<char*>(std::realloc(block, 9 * kThreshold));
    right = right && grown[5 * kThreshold - 1] == 5;
    std::free(grown);
    std::thread([] { std::free(std::malloc(2 * kThreshold)); }).join();
    const pid_t grandchild = fork();
    if (grandchild == 0) std::_Exit(0);
    int status = 1;
    waitpid(grandchild, &status, 0);
    std::_Exit(right && status == 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "a forked child");
  expect(block[0] == 5, "the parent of a fork");
  std::free(block);
}

}  // namespace

// Arguments: how many random programs, the first seed.
int main(int count, char** arguments) {
  std::atexit(at_exit);
  const unsigned long programs = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1;
  const unsigned long first = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 0;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, kThreshold - 1, kThreshold,
                                  kThreshold + 1, 7 * kThreshold}) {
    call_everything(bytes);
    std::thread(call_everything, bytes).join();
  }
  Heap heap;
  for (unsigned long seed = first; seed < first + programs; ++seed) {
    skyline::RandomThreads program(heap, seed, kThreshold / (1 + seed % 4));
    try {
      program.run(20, seed % 4);
    } catch (const std::exception& error) {
      expect(false, error.what());
    }
    fork_in_a_step();
    call_everything(kThreshold);
  }
  std::printf(wrong == 0 ? "right\n" : "%d wrong\n", wrong);
  std::fflush(stdout);
  return wrong == 0 ? 0 : 1;
}
