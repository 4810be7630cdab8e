#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <random>

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

bool holds_leftovers(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") return true;
  }
  return false;
}

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
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_until_killed(folder.path(), last_step);
    usleep(static_cast<useconds_t>(delay(random)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "saving failed before the kill";

    interrupted_saves += holds_leftovers(folder.path());
    const LoadedCheckpoint loaded = load_checkpoint(folder.path());
    EXPECT_TRUE(loaded.warnings.empty()) << loaded.warnings.front();
    const std::int64_t step = consistent_step(loaded.checkpoint);
    EXPECT_GE(step, last_step);
    last_step = step;
  }
  std::cout << last_step << " checkpoints saved, " << interrupted_saves << " of " << kKills
            << " kills hit a save half done\n";
}

}  // namespace
}  // namespace skyline
