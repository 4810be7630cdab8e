// Programs run under libskyline_run.so as they run without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using testing::HasSubstr;

struct Ran {
  int status = 0;
  std::string output;
  bool operator==(const Ran&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Ran& ran) {
  return out << ran.status << ": " << ran.output;
}

Ran run(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  Ran ran;
  std::array<char, 4096> part;
  while (const std::size_t bytes = std::fread(part.data(), 1, part.size(), pipe)) {
    ran.output.append(part.data(), bytes);
  }
  ran.status = pclose(pipe);
  return ran;
}

// Options as lines, in which $$ is the process; `behind`: a library that is preloaded behind ours.
std::string under(const std::string& options, const std::string& command,
                  const std::string& behind = "") {
  return "exec env SKYLINE_RUN=\"" + options + "\" LD_PRELOAD='" SKYLINE_RUN_LIBRARY " " + behind +
         "' " + command;
}

// Every allocator, and what each threshold sends to it.
std::vector<std::string> all_options() {
  std::vector<std::string> all = {"", "threshold=1", "period=0", "before=2", "record=/dev/null"};
  for (const char* allocator :
       {"planned", "best-fit-pool", "exact-pool", "caching", "bfc", "stitched", "network-wise"}) {
    for (const char* threshold : {"1", "5000", "65536"}) {
      all.push_back(std::string("allocator=") + allocator + "\nthreshold=" + threshold);
    }
  }
  return all;
}

void expect_the_same(const std::string& command) {
  const Ran alone = run(command);
  for (const std::string& options : all_options()) {
    EXPECT_EQ(run(under(options, command)), alone) << command << " under " << options;
  }
}

TEST(Preloaded, RunsAProgramThatAllocatorsHate) {
  for (const std::string& options : all_options()) {
    const Ran ran = run(under(options, SKYLINE_HATED_PROGRAM " 2"));
    EXPECT_EQ(ran.status, 0) << options;
    EXPECT_EQ(ran.output, "right\n") << options;
  }
}

TEST(Preloaded, RunsRandomPrograms) {
  constexpr std::uint64_t kShare = 500;
  const std::uint64_t programs = cases(60, 10000);
  for (std::uint64_t seed = first_seed(); seed < first_seed() + programs; seed += kShare) {
    const std::string words =
        " " + std::to_string(std::min(kShare, programs)) + " " + std::to_string(seed);
    const Ran ran = run(under("", SKYLINE_HATED_PROGRAM + words));
    ASSERT_EQ(ran.status, 0) << words << ran.output;
  }
}

TEST(Preloaded, RunsProgramsOfTheSystem) {
  expect_the_same("ls /usr /usr/lib");
  expect_the_same("bash -c 'for i in 1 2 3; do x=$(echo $i | cat); echo $x; done; exit 7'");
  expect_the_same("sort /etc/passwd");
}

TEST(Preloaded, RunsPython) {
  if (run(SKYLINE_PYTHON " -c ''").status != 0) GTEST_SKIP() << "no python3";
  expect_the_same(SKYLINE_PYTHON
                  " -c 'import json, threading\n"
                  "x = bytearray(10**6)\nfor k in range(50): x += bytes(10**5)\n"
                  "t = threading.Thread(target=lambda: print(len(bytes(10**7))))\n"
                  "t.start(); t.join(); print(len(x), sum(x), json.dumps([1] * 5))'");
}

TEST(Preloaded, RunsNumPy) {
  if (run(SKYLINE_PYTHON " -c 'import numpy'").status != 0) GTEST_SKIP() << "no numpy";
  expect_the_same(SKYLINE_PYTHON
                  " -c 'import numpy\na = numpy.arange(10**5, dtype=float)\n"
                  "for k in range(80): b = a * 2 + numpy.zeros(10**5); a = b / 2\n"
                  "print(a.sum(), numpy.linalg.norm(a.reshape(1000, 100) @ a[:100]))'");
}

TEST(Preloaded, LeavesOtherAllocatorsBehindIt) {
  for (const char* name : {"libtcmalloc_minimal.so.4", "libjemalloc.so.2", "libmimalloc.so.2"}) {
    const Ran alone = run(std::string("env LD_PRELOAD=") + name + " " SKYLINE_HATED_PROGRAM);
    if (alone.output.find("cannot be preloaded") != std::string::npos) continue;  // not installed
    if (alone.status != 0) continue;  // jemalloc has no pvalloc(): it meets the C library's block
    EXPECT_EQ(run(under("", SKYLINE_HATED_PROGRAM, name)), alone) << name;
  }
}

TEST(Preloaded, StaysOutOfProgramsThatTheProgramStarts) {
  const std::string shown = "bash -c 'env; true'";
  EXPECT_THAT(run(under("process=$$", shown)).output, testing::Not(HasSubstr("skyline_run")));
  EXPECT_THAT(run(under("process=0", shown)).output, HasSubstr("libskyline_run.so"));
}

TEST(Preloaded, FollowsAProcessThatBecomesAnotherProgram) {
  const std::string file = testing::TempDir() + "skyline_wrapped";
  std::filesystem::remove(file);
  run(under("process=$$\nreport=" + file, "bash -c 'sleep 0; exec env A=1 ls'"));
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr("{\"command\":\"ls\","));
  std::filesystem::remove(file);
}

TEST(Preloaded, RefusesWhatTheMachineRefuses) {
  const std::string limited = "ulimit -v 3000000; ";
  EXPECT_EQ(run(limited + under("threshold=1", SKYLINE_HATED_PROGRAM)).output, "right\n");
}

TEST(Preloaded, WritesAReport) {
  const std::string file = testing::TempDir() + "skyline_report";
  std::filesystem::remove(file);
  run(under("report=" + file, "ls"));
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr("{\"command\":\"ls\",\"steps\":0,"));
  EXPECT_THAT(text, HasSubstr("large requests"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace skyline
