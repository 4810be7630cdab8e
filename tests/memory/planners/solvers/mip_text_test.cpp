// CBC reads back the files of `plan --write-lp`.
#include <coin/Cbc_C_Interface.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "memory/random_inputs.h"
#include "memory/solvers/pair_programs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/exhaustive.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

struct DeleteCbc {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};

// Returns the optimum of the program in the file, in units; −1 if CBC finds none.
double optimum_of_file(const std::string& text, bool mps) {
  // Another share of the tests may write such a file at the same time.
  const std::string file =
      fmt::format("{}mip_text_{}.{}", testing::TempDir(), getpid(), mps ? "mps" : "lp");
  std::ofstream(file) << text;
  const std::unique_ptr<Cbc_Model, DeleteCbc> cbc(Cbc_newModel());
  Cbc_setLogLevel(cbc.get(), 0);
  testing::internal::CaptureStdout();  // the readers print
  const int fault =
      mps ? Cbc_readMps(cbc.get(), file.c_str()) : Cbc_readLp(cbc.get(), file.c_str());
  Cbc_solve(cbc.get());
  testing::internal::GetCapturedStdout();
  std::filesystem::remove(file);
  EXPECT_EQ(fault, 0) << text;
  return Cbc_isProvenOptimal(cbc.get()) != 0 ? Cbc_getObjValue(cbc.get()) : -1;
}

TEST(MipText, HoldsTheProgramOfTwoBlocksThatMeet) {
  const Trace trace{.blocks = {{0, 2, 1024}, {1, 3, 512}, {2, 4, 512}}};
  EXPECT_EQ(mip_text(trace, {.capacity = 1536}, false),
            "\\ PGMO's mixed-integer program (section 3.1) of 3 blocks, of which 2 pairs meet\n"
            "\\ x: where a block begins; z: 1 if the first of two blocks lies above the second; u: "
            "peak\n"
            "\\ numbers are in units of 512 bytes; W = 3\n"
            "Minimize\n"
            " cost: + 1 u\n"
            "Subject To\n"
            " r0: + 1 x0 - 1 u <= -2\n"
            " r1: + 1 x1 - 1 u <= -1\n"
            " r2: + 1 x2 - 1 u <= -1\n"
            " r3: + 1 x0 - 1 x1 - 3 z0_1 <= -2\n"
            " r4: - 1 x0 + 1 x1 + 3 z0_1 <= 2\n"
            " r5: + 1 x1 - 1 x2 - 3 z1_2 <= -1\n"
            " r6: - 1 x1 + 1 x2 + 3 z1_2 <= 2\n"
            "Bounds\n"
            " 0 <= x0 <= 1\n"
            " 0 <= x1 <= 2\n"
            " 0 <= x2 <= 2\n"
            " 0 <= u <= 3\n"
            " 0 <= z0_1 <= 1\n"
            " 0 <= z1_2 <= 1\n"
            "Generals\n"
            " u\n"
            " z0_1\n"
            " z1_2\n"
            "End\n");
  EXPECT_THAT(mip_text(trace, {}, false), testing::HasSubstr("W = 4\n")) << "the sum of the sizes";
}

TEST(MipText, HasTheOptimumThatExhaustiveSearchFinds) {
  for (const std::uint64_t seed : seeds(cases(24, 60))) {
    Trace trace = short_lived_trace(seed, 2 + seed % 6, 10, 9);
    if (seed % 4 == 1) trace = with_fixed_offsets(std::move(trace), seed, 1);
    if (seed % 4 == 2) trace = with_gaps(std::move(trace), seed);
    const std::uint64_t least = optimum(trace);
    const std::uint64_t unit = Packing(trace, 1).unit_bytes();
    for (const bool mps : {false, true}) {
      const std::string text = mip_text(trace, {.alignment = 1}, mps);
      EXPECT_NEAR(optimum_of_file(text, mps) * static_cast<double>(unit),
                  static_cast<double>(least), 1e-4)
          << "seed " << seed << '\n'
          << text;
    }
  }
}

TEST(MipText, KeepsAlignments) {
  const Trace trace{.blocks = {{0, 2, 3}, {0, 2, 5}, {0, 2, 2}}, .alignments = {4, 8, 1}};
  EXPECT_EQ(mip(trace, {}).peak, 11u);
  for (const bool mps : {false, true}) {
    EXPECT_NEAR(optimum_of_file(mip_text(trace, {}, mps), mps), 11, 1e-4);
  }
}

TEST(MipText, HasNoSolutionWithinAnImpossibleCapacity) {
  const Trace trace{.blocks = {{0, 2, 3}, {1, 3, 4}}};
  for (const bool mps : {false, true}) {
    EXPECT_EQ(optimum_of_file(mip_text(trace, {.alignment = 1, .capacity = 6}, mps), mps), -1);
  }
}

}  // namespace
}  // namespace skyline
