// Translation steps with every hand-out checked; each batch has another shape.
// Runs a few batches of numbers in words, and 2,000 batches of the texts in the folder
// SKYLINE_TEXTS, which are skipped if it is unset.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>

#include "tests/memory/planners/effort.h"
#include "tests/train/decided_run.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"
#include "train/run/memory_summary.h"

namespace skyline {
namespace {

using namespace tests;

const char* texts() { return std::getenv("SKYLINE_TEXTS"); }

struct BatchForm {
  bool real;    // of SKYLINE_TEXTS, otherwise numbers
  bool unroll;  // LSTMs word by word, otherwise packed
};

std::int64_t batches_of(const BatchForm& form) {
  if (form.real) return 2000;
  return std::max<std::int64_t>(static_cast<std::int64_t>(effort(36)), 12);
}

// The network is so small that memory management takes most of the time. The last batch of an epoch
// is smaller.
TrainOptions real_options(const BatchForm& form, bool bucket = false) {
  TrainOptions options;
  options.model = "seq2seq";
  options.batch_size = 12;
  options.threads = 1;
  options.memory.guard = options.memory.check = true;
  options.text.pairs = 200;
  options.text.units = 8;
  options.text.vocab_size = 200;
  options.text.dropout = 0.2;
  options.text.unroll = form.unroll;
  options.text.bucket = bucket;
  if (form.real) {
    const std::filesystem::path folder = texts();
    options.text.source = {(folder / "newstest2012.en").string()};
    options.text.target = {(folder / "newstest2012.fr").string()};
  }
  options.steps = batches_of(form);
  options = resolved(options);
  return options;
}

struct RunFacts {
  std::vector<float> losses;
  std::string parameters_sha256;
  std::uint64_t reserved_bytes = 0, resident_bytes = 0;
  SessionStatistics figures = {};
  std::vector<std::uint64_t> replans;  // steps that began with a new plan
};

RunFacts run(const DecidedWorkload& data, const MemoryOptions& memory, std::int64_t batches) {
  const std::unique_ptr<ModelRun> steps = tests::run_on(data, memory);
  ModelRun& run = *steps;
  run.seek({}, 0);
  const Session* session = run.memory.session();
  RunFacts result;
  for (std::int64_t number = 1; number <= batches; ++number) {
    run.next();
    result.losses.push_back(run.train_step({.learning_rate = 1e-3f, .step = number}));
    if (session == nullptr) continue;
    session->wait_for_plan();  // so that the number of plans does not depend on timing
    const SessionStatistics figures = session->session_statistics();
    if (figures.replans > result.figures.replans) {
      result.replans.push_back(static_cast<std::uint64_t>(number - 1));
    }
    result.figures = figures;
  }
  result.parameters_sha256 = tensors_sha256(run.context, values_of(run.network().parameters()));
  result.reserved_bytes = memory_summary(run, memory.allocator, 0).steady_peak_bytes();
  result.resident_bytes = run.resident_bytes();
  return result;
}

void tell(const std::string& name, const RunFacts& run) {
  std::cout << name << ": " << run.figures.planned_steps << " of " << run.losses.size()
            << " steps planned, " << run.figures.deviations << " deviations, "
            << run.figures.replans << " re-plans, by hundreds:";
  std::vector<std::uint64_t> counts((run.losses.size() + 99) / 100);
  for (const std::uint64_t step : run.replans) ++counts[step / 100];
  for (const std::uint64_t count : counts) std::cout << ' ' << count;
  std::cout << "; reserved " << run.reserved_bytes << " bytes, " << run.resident_bytes
            << " of them resident\n";
}

class VaryingBatches : public ::testing::TestWithParam<BatchForm> {
 protected:
  void SetUp() override {
    if (GetParam().real && texts() == nullptr) {
      GTEST_SKIP() << "SKYLINE_TEXTS names no folder of texts";
    }
    read(/*bucket=*/false);
  }
  void read(bool bucket) {
    options_ = real_options(GetParam(), bucket);
    data_ = decided_workload(options_, {}, console_);
  }
  std::int64_t batches() const { return batches_of(GetParam()); }
  void expect_the_same_under(const std::string& allocator) {
    const RunFacts other = run(data_, with_policy(options_.memory, allocator), batches());
    tell(allocator, other);
    EXPECT_EQ(other.losses, pool().losses);
    EXPECT_EQ(other.parameters_sha256, pool().parameters_sha256);
    outcome_ = other;
  }
  const RunFacts& pool() {
    if (!pool_) pool_ = run(data_, with_policy(options_.memory, "best-fit-pool"), batches());
    return *pool_;
  }
  std::uint64_t longest_bytes() const {
    return data_.workload->results(data_.decisions).longest_batch->live_bytes;
  }

  TrainOptions options_;
  std::ostringstream messages_;
  Console console_{messages_, {}};
  DecidedWorkload data_;
  RunFacts outcome_;

 private:
  std::optional<RunFacts> pool_;
};

TEST_P(VaryingBatches, GrowPlansAnewMoreAndMoreRarely) {
  expect_the_same_under("planned-grow");
  if (batches() < 36) return;  // too few to tell, as under sanitizers
  // Word by word, a merged plan would soon outgrow all steps, so new ones are rare from the start.
  if (outcome_.replans.size() <= static_cast<std::size_t>(batches() / 8)) return;
  const auto half = static_cast<std::uint64_t>(batches() / 2);
  const auto late =
      std::ranges::count_if(outcome_.replans, [half](std::uint64_t step) { return step >= half; });
  EXPECT_LT(2 * late, static_cast<std::int64_t>(outcome_.replans.size()));
}

TEST_P(VaryingBatches, PerShapeDeviatesFromNoPlan) {
  expect_the_same_under("planned-per-shape");
  EXPECT_EQ(outcome_.figures.deviations, 0u);
}

TEST_P(VaryingBatches, UpperBoundTakesWhatTheLongestBatchTakes) {
  expect_the_same_under("planned-upper-bound");
  EXPECT_EQ(outcome_.figures.planned_steps, outcome_.losses.size());
  EXPECT_EQ(outcome_.figures.deviations, 0u);
  EXPECT_EQ(outcome_.figures.replans, 0u);
  EXPECT_EQ(outcome_.figures.device_allocations_since_switch, 0u);
  EXPECT_EQ(outcome_.figures.fallback_requests, 0u);
  const auto least = static_cast<double>(outcome_.resident_bytes + longest_bytes());
  const double page = 4096;  // arenas are whole pages
  EXPECT_LE(static_cast<double>(outcome_.reserved_bytes), 1.01 * least + page);
  EXPECT_LE(outcome_.reserved_bytes, pool().reserved_bytes);
}

TEST_P(VaryingBatches, UpperBoundServesBatchesOfLikeLengths) {
  read(/*bucket=*/true);
  expect_the_same_under("planned-upper-bound");
  EXPECT_EQ(outcome_.figures.deviations, 0u);
  EXPECT_EQ(outcome_.figures.device_allocations_since_switch, 0u);
}

std::string batch_form(const ::testing::TestParamInfo<BatchForm>& info) {
  return info.param.unroll ? "unrolled" : "packed";
}
const auto kNumbers = ::testing::Values(BatchForm{false, false}, BatchForm{false, true});
const auto kTexts = ::testing::Values(BatchForm{true, false}, BatchForm{true, true});
INSTANTIATE_TEST_SUITE_P(Numbers, VaryingBatches, kNumbers, batch_form);
INSTANTIATE_TEST_SUITE_P(RealTexts, VaryingBatches, kTexts, batch_form);

}  // namespace
}  // namespace skyline
