// Budgets of every model on CUDA, from dry runs: nothing is computed.

#include <gtest/gtest.h>

#include "framework/cuda/make_cuda_compute.h"
#include "tests/train/decide/budget_programs.h"

namespace skyline {
namespace {

using namespace tests;

class CudaBudget : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaBudget, IsKeptAndNeverBeatsItsBound) {
  DryRunOptions program = budget_program(GetParam());
  program.compute = make_cuda_compute({.deterministic = true});
  SmallBudget small(program);
  expect_keeps_twenty(small);
}

// inception-resnet waits for nights: EveryModelsBudget searches it on the CPU.
std::vector<std::string> cuda_programs() {
  std::vector<std::string> programs = budget_programs();
  if (!runs_at_night()) std::erase(programs, "inception-resnet");
  return programs;
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaBudget, ::testing::ValuesIn(cuda_programs()),
                         [](const auto& tested) { return budget_program_name(tested.param); });

}  // namespace
}  // namespace skyline
