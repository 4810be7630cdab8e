#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/train/checkpoints/numbered_checkpoint.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kElements = 100'000;  // 400 KB per tensor

// Saves one step after another, forever.
[[noreturn]] void save_until_killed(const fs::path& folder, std::int64_t step) {
  try {
    CheckpointStore store(folder);
    for (;;) store.save(numbered_checkpoint(++step, kElements));
  } catch (const std::exception&) {
    _exit(1);
  }
}

std::vector<fs::path> leftovers(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") found.push_back(entry.path());
  }
  return found;
}

// Returns the step of the last good checkpoint, which must load without a warning.
std::int64_t loaded_step(const fs::path& folder) {
  const LoadedCheckpoint loaded = load_checkpoint(folder);
  EXPECT_TRUE(loaded.warnings.empty()) << loaded.warnings.front();
  return consistent_step(loaded.checkpoint);
}

// Half of the kills wait until a save has begun, so that some hit it half done. The others come at
// any time and find what earlier kills left behind.
TEST(CheckpointKill, TheLastGoodOneAlwaysLoads) {
  constexpr int kKills = 50;
  const auto seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  CheckpointStore(folder.path()).save(numbered_checkpoint(0, kElements));
  const std::chrono::duration<double, std::micro> save = std::chrono::steady_clock::now() - begin;
  // Kills hit the first, second or third save of a child.
  std::uniform_real_distribution<double> delay(0, 3 * save.count());
  std::int64_t last_step = 0;
  int interrupted_saves = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    const bool within_a_save = kill_number % 2 == 1;
    if (within_a_save) {
      for (const fs::path& leftover : leftovers(folder.path())) fs::remove_all(leftover);
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_until_killed(folder.path(), last_step);
    if (within_a_save) {
      while (leftovers(folder.path()).empty() && waitpid(child, nullptr, WNOHANG) == 0) {
      }
    } else {
      usleep(static_cast<useconds_t>(delay(random)));
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "saving failed before the kill";

    interrupted_saves += within_a_save && !leftovers(folder.path()).empty();
    const std::int64_t step = loaded_step(folder.path());
    EXPECT_GE(step, last_step);
    last_step = step;
  }
  EXPECT_GT(interrupted_saves, 0) << "no kill hit a save half done";
}

// Forks, and kills the child where it enters its system call number `call`. Returns nothing if the
// child ended before, and throws if it may not be traced.
std::optional<int> kill_at(int call, const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) throw std::runtime_error("a child cannot be traced here");
  // Each call stops twice, where it is entered and where it is left. Other signals go on to the
  // child: it would wait for its own abort() for ever.
  int signal = 0;
  for (int stop = 0; stop <= 2 * call && WIFSTOPPED(status); stop += signal == 0) {
    ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    waitpid(child, &status, 0);
    signal = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;
  }
  if (WIFSIGNALED(status)) throw std::logic_error("a save ended by a signal");
  if (!WIFSTOPPED(status)) return {};
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return call;
}

TEST(CheckpointKill, AtEverySystemCallOfASaveTheLastGoodOneLoads) {
  const TemporaryFolder folder;
  CheckpointStore(folder.path()).save(numbered_checkpoint(0));
  std::int64_t last_step = 0;
  int interrupted_saves = 0, kills = 0;
  constexpr int kMostCalls = 1000;  // a save makes some hundred
  try {
    for (bool ended = false; !ended && kills < kMostCalls; ++kills) {
      for (const fs::path& leftover : leftovers(folder.path())) fs::remove_all(leftover);
      // Each save has a step of its own: it need not look for a free name behind others.
      ended = !kill_at(
          kills, [&] { CheckpointStore(folder.path()).save(numbered_checkpoint(kills + 1)); });
      interrupted_saves += !leftovers(folder.path()).empty();
      const std::int64_t step = loaded_step(folder.path());
      ASSERT_GE(step, last_step) << "killed at call " << kills;
      last_step = step;
    }
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_LT(kills, kMostCalls);
  EXPECT_GT(interrupted_saves, 20) << "a save makes that many system calls before it is whole";
  EXPECT_GT(last_step, 1) << "calls that come after the new checkpoint is whole";
}

}  // namespace
}  // namespace skyline
