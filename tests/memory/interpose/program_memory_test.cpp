// The library's objects without preloading, so that the sanitizers see them.
#include "memory/interpose/program_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>

#include "tests/memory/interpose/random_threads.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using testing::HasSubstr;

constexpr std::size_t kThreshold = 4096;
constexpr std::size_t kSpan = std::size_t{1} << 32;

// Calls ProgramMemory as interpose.cpp does, beside this program's own C library.
struct Heap {
  ProgramMemory& memory;

  void* allocate(std::size_t bytes) { return get(bytes, false); }
  void* allocate_zeroed(std::size_t bytes) { return get(bytes, true); }
  void* resize(void* address, std::size_t bytes) {
    if (!memory.owns(address)) return std::realloc(address, bytes);
    void* const moved = allocate(bytes);
    std::memcpy(moved, address, std::min(bytes, memory.bytes_of(address)));
    memory.release(address);
    return moved;
  }
  void deallocate(void* address) {
    memory.owns(address) ? memory.release(address) : std::free(address);
  }
  void end_step(std::uint64_t kind) { memory.end_step(kind); }

 private:
  void* get(std::size_t bytes, bool zeroed) {
    void* const block = bytes >= kThreshold ? memory.request(bytes, zeroed) : nullptr;
    if (block != nullptr) return block;
    return zeroed ? std::calloc(1, bytes) : std::malloc(bytes);
  }
};

// Steps until a plan from the background serves them, and 100 more.
template <typename Step>
void run_until_planned(ProgramMemory& memory, Step step) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!memory.report().plan_bytes && std::chrono::steady_clock::now() < limit) step();
  for (int more = 0; more < 100; ++more) step();
}

// A step of 30 requests, of which each frees the one before; the last outlives its mark.
void calm_step(ProgramMemory& memory, void*& outliving) {
  void* before = nullptr;
  for (std::size_t k = 0; k < 30; ++k) {
    void* const block = memory.request((k + 1) * kThreshold, false);
    ASSERT_NE(block, nullptr);
    if (k == 1 && outliving != nullptr) memory.release(std::exchange(outliving, nullptr));
    if (before != nullptr) memory.release(before);
    before = block;
  }
  outliving = before;
}

TEST(ProgramMemory, PlansMarkedStepsFromTheirEmptiestMomentOn) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  memory.begin();
  void* outliving = nullptr;
  run_until_planned(memory, [&] {
    calm_step(memory, outliving);
    memory.end_step(0);
  });
  memory.release(outliving);
  const RunReport report = memory.report();
  EXPECT_EQ(report.deviations, 0u);
  EXPECT_EQ(report.planned_blocks, 29u);  // the block alive at the cut is the pool's
  // The largest two neighbours. Cut at the mark, the block alive there would have come on top.
  EXPECT_EQ(report.plan_bytes, (29 + 30) * kThreshold);
  EXPECT_EQ(report.bound_bytes, report.plan_bytes);
  EXPECT_GE(report.planned_requests, 100u * 29);
  EXPECT_GE(report.served[2].steps, 98u);
  EXPECT_EQ(report.other_threads, 0u);
}

// Requests of the sizes of steps, none alive at the end.
void evaluate(ProgramMemory& memory) {
  for (std::size_t k = 20; k > 0; --k) memory.release(memory.request(k * kThreshold, false));
}

TEST(ProgramMemory, KeepsStepsApartFromEvaluationsBeforeTheyAreAnnounced) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  memory.begin();
  void* outliving = nullptr;
  int steps = 0;
  run_until_planned(memory, [&] {
    if (++steps % 3 == 0) evaluate(memory);
    memory.announce_step();
    calm_step(memory, outliving);
    memory.end_step(0);
  });
  memory.release(outliving);
  EXPECT_EQ(memory.report().deviations, 0u);
  EXPECT_EQ(memory.report().planned_blocks, 28u);  // less two before the cut
  EXPECT_GE(memory.report().planned_requests, 100u * 27);
}

TEST(ProgramMemory, PlansStepsThatAreNoLongerAnnounced) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  memory.begin();
  void* outliving = nullptr;
  run_until_planned(memory, [&] {
    memory.announce_step();
    calm_step(memory, outliving);
    memory.end_step(0);
  });
  const std::uint64_t planned = memory.report().planned_requests;
  for (int step = 0; step < 10; ++step) {  // the first one still waits
    calm_step(memory, outliving);
    memory.end_step(0);
  }
  memory.release(outliving);
  EXPECT_GE(memory.report().planned_requests, planned + 8 * 27);
}

TEST(ProgramMemory, LeavesRequestsToTheCLibraryUntilStepsBegin) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  EXPECT_EQ(memory.request(kMiB, false), nullptr);
  memory.begin();
  void* const block = memory.request(kMiB, false);
  EXPECT_TRUE(memory.owns(block));
  EXPECT_EQ(memory.bytes_of(block), kMiB);
  EXPECT_EQ(memory.request(kMiB, true), nullptr);  // untouched zeros take no pages there
  memory.release(block);
}

TEST(ProgramMemory, LeavesTheFirstStepsToTheCLibraryIfAsked) {
  ProgramMemory memory({.threshold_bytes = kThreshold, .before = 3}, kSpan);
  memory.begin();
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(memory.request(kMiB, false), nullptr);
    memory.end_step(0);
  }
  EXPECT_EQ(memory.report().served[0].steps, 2u);
  EXPECT_EQ(memory.request(kMiB, false), nullptr);
  memory.end_step(0);
  void* const block = memory.request(kMiB, false);
  EXPECT_NE(block, nullptr);
  memory.release(block);
}

TEST(ProgramMemory, FindsStepsThatNobodyMarks) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  run_until_planned(memory, [&] {
    for (std::size_t k = 0; k < 25; ++k) {
      void* const block = memory.request((1 + k * k) * kThreshold, false);
      if (block != nullptr) memory.release(block);
    }
  });
  const RunReport report = memory.report();
  EXPECT_EQ(report.period, 25u);
  EXPECT_GT(report.planned_requests, 99u * 25);
  EXPECT_EQ(report.deviations, 0u);
}

TEST(ProgramMemory, LeavesOtherThreadsToTheCLibrary) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  memory.begin();
  void* const block = memory.request(kMiB, false);
  std::thread([&] {
    EXPECT_EQ(memory.request(kMiB, false), nullptr);
    memory.release(block);  // it may free what others asked for
  }).join();
  EXPECT_EQ(memory.report().other_threads, 1u);
}

// The child may free what it inherited; its requests are the C library's.
TEST(ProgramMemory, ServesNothingInAForkedChild) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  memory.begin();
  auto* const block = static_cast<char*>(memory.request(kMiB, false));
  block[0] = 'a';
  memory.before_fork();
  const pid_t child = fork();
  memory.after_fork(child == 0);
  if (child == 0) {
    const bool right = block[0] == 'a' && memory.request(kMiB, false) == nullptr &&
                       memory.owns(block) && memory.bytes_of(block) == kMiB;
    memory.release(block);
    std::_Exit(right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  memory.release(block);
}

TEST(ProgramMemory, SaysWhatItCannotServe) {
  ProgramMemory memory({.threshold_bytes = kThreshold}, kSpan);
  memory.begin();
  EXPECT_EQ(memory.request(2 * kSpan, false), nullptr);
  memory.note_alignment();
  const RunReport report = memory.report();
  EXPECT_EQ(report.refused, 1u);
  EXPECT_EQ(report.large_alignment, 1u);
  EXPECT_THAT(report.json(), HasSubstr("\"refused\":1,"));
  EXPECT_THAT(report.text(), HasSubstr("1 by alignment"));
}

class ProgramFiles : public testing::Test {
 protected:
  ProgramFiles() : folder_(std::filesystem::temp_directory_path() / "skyline_program_XXXXXX") {
    std::string name = folder_.string();
    folder_ = mkdtemp(name.data());
  }
  ~ProgramFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ / name; }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(ProgramFiles, ServeTheNextRunFromItsFirstStep) {
  void* outliving = nullptr;
  {
    ProgramMemory memory({.threshold_bytes = kThreshold, .write_trace = path("trace.csv")}, kSpan);
    memory.begin();
    run_until_planned(memory, [&] {
      calm_step(memory, outliving);
      memory.end_step(0);
    });
    memory.release(std::exchange(outliving, nullptr));
    memory.finish();
  }
  EXPECT_THAT(text_of(path("trace.csv")), HasSubstr("id,lower,upper,size\n2,0,"));
  ProgramMemory memory({.threshold_bytes = kThreshold, .plan = path("trace.csv")}, kSpan);
  memory.begin();
  for (int step = 0; step < 3; ++step) {
    calm_step(memory, outliving);
    memory.end_step(0);
  }
  memory.release(outliving);
  EXPECT_GE(memory.report().planned_requests, 80u);
}

TEST_F(ProgramFiles, RecordEveryRequest) {
  ProgramMemory memory({.threshold_bytes = kThreshold, .record = path("events.csv")}, kSpan);
  void* const block = memory.request(3 * kThreshold, false);
  void* other = nullptr;
  std::thread([&] { other = memory.request(2 * kThreshold, false); }).join();
  memory.end_step(0);
  memory.release(block);
  void* const next = memory.request(kMiB, false);
  memory.finish();
  EXPECT_EQ(text_of(path("events.csv")),
            "event,id,bytes\na,1,12288\ni,,\na,2,8192\nr,,\nf,1,\ns,,\na,3,1048576\n");
  EXPECT_EQ(memory.request(kMiB, false), nullptr);  // after the end
  memory.release(other);
  memory.release(next);
}

TEST(RunOptions, AreReadAsTheyAreWritten) {
  const RunOptions options{.threshold_bytes = 5,
                           .allocator = "caching",
                           .before = 2,
                           .period = false,
                           .plan = "a=b c.csv"};
  const RunOptions read = RunOptions::read(options.text());
  EXPECT_EQ(read.text(), options.text());
  EXPECT_EQ(read.plan, "a=b c.csv");
  EXPECT_THROW(RunOptions::read("before=x"), std::invalid_argument);
}

void expect_sound(std::uint64_t seed, const std::string& allocator) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << allocator);
  ProgramMemory memory({.threshold_bytes = kThreshold, .allocator = allocator}, kSpan);
  Heap heap{memory};
  RandomThreads<Heap> program(heap, seed, kThreshold);
  if (seed % 2 == 0) memory.begin();
  EXPECT_NO_THROW(program.run(12, seed % 4));
  EXPECT_EQ(memory.report().problem, "");
}

TEST(RandomThreadPrograms, NeverLoseAByte) {
  const std::uint64_t end = first_seed() + effort(cases(300, 10000));
  for (std::uint64_t seed = first_seed(); seed < end; ++seed) {
    if (testing::Test::HasFailure()) return;
    expect_sound(seed, "planned");
  }
}

TEST(RandomThreadPrograms, NeverLoseAByteUnderOtherAllocators) {
  const std::uint64_t end = first_seed() + effort(40);
  for (std::uint64_t seed = first_seed(); seed < end; ++seed) {
    if (testing::Test::HasFailure()) return;
    for (const char* allocator : {"best-fit-pool", "caching", "bfc", "stitched", "exact-pool"}) {
      expect_sound(seed, allocator);
    }
  }
}

}  // namespace
}  // namespace skyline
