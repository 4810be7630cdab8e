// Plans of memory/formats/csv/trace_csv.h: offsets, certificates, and matching with a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/random_inputs.h"
#include "memory/validator.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;

Trace trace_of_plan(const std::string& text) {
  std::istringstream in(text);
  return read_trace_csv(in, "trace.csv");
}
CsvPlan plan_of(const std::string& text) {
  std::istringstream in(text);
  return read_plan_csv(in, "plan.csv");
}

TEST(PlanCsv, RoundTripsAPlan) {
  const Trace trace = training_trace(1, 20, 5000);
  Plan plan{.alignment = 512, .planner = "by hand"};
  std::uint64_t end = 0;
  for (const TraceBlock& block : trace.blocks) {
    plan.offsets.push_back(end);
    end += align_checked(block.bytes, 512);
  }
  std::ostringstream out;
  write_plan_csv(out, trace, plan);
  const CsvPlan back = plan_of(out.str());
  EXPECT_EQ(back.plan.offsets, plan.offsets);
  EXPECT_EQ(back.trace.alignments, std::vector<std::uint64_t>(trace.size(), 512));
  EXPECT_EQ(back.plan.peak, end);
  EXPECT_EQ(back.plan.lower_bound, lower_bound_bytes(trace, 512));
  EXPECT_TRUE(validate(back.trace, back.plan).valid);
  EXPECT_TRUE(validate(trace, match_plan(back, trace, 512)).valid) << "of rounded sizes";
}

std::string plan_text(const Trace& trace, const Plan& plan) {
  std::ostringstream out;
  write_plan_csv(out, trace, plan);
  return out.str();
}

// A plan that stacks all blocks, whatever their lifetimes.
Plan stacked(const Trace& trace, std::uint64_t alignment) {
  Plan plan{.alignment = alignment, .planner = "stack"};
  for (const TraceBlock& block : trace.blocks) {
    plan.offsets.push_back(plan.peak);
    plan.peak += alignment > 1 ? align_checked(block.bytes, alignment) : block.bytes;
  }
  plan.lower_bound = plan.proved_bound = lower_bound_bytes(trace, alignment);
  plan.proved_optimal = plan.peak == plan.lower_bound;
  return plan;
}

TEST(PlanCsv, RoundTripsPlansOfRandomTraces) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Trace trace = random_trace(seed, 1 + seed % 30, 60, 1 << 30);
    for (std::size_t i = 0; i < trace.size(); i += 3) {
      const TraceBlock& block = trace.blocks[i];
      if (block.upper - block.lower > 2)
        trace.gaps.push_back({i, block.lower + 1, block.upper - 1});
    }
    if (seed % 2 == 0) {
      trace.tags.assign(trace.size(), {"a,b", "\"c\"", Phase::kBackward, Category::kOptimizer});
    }
    const Plan plan = stacked(trace, 1 + seed % 7);
    const CsvPlan back = plan_of(plan_text(trace, plan));
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(back.trace.gaps, trace.gaps);
    ASSERT_EQ(back.trace.tags, trace.tags);
    ASSERT_EQ(back.plan.offsets, plan.offsets);
    ASSERT_EQ(common_alignment(back.trace, 1), plan.alignment);
    ASSERT_EQ(back.plan.peak, plan.peak);
    ASSERT_EQ(back.plan.lower_bound, plan.lower_bound);
    ASSERT_EQ(back.plan.proved_optimal, plan.proved_optimal);
    ASSERT_TRUE(validate(trace, match_plan(back, trace, plan.alignment)).valid);
    ASSERT_EQ(fault_of_certificate(*back.certificate, trace, back.plan), "");
  }
}

// Two blocks, one on top of the other, one of them fixed.
const Trace kCertified{.blocks = {{0, 3, 4}, {2, 9, 5}}, .fixed_offsets = {{}, 4}};
const Plan kCertifiedPlan{.offsets = {0, 4},
                          .peak = 9,
                          .lower_bound = 9,
                          .proved_bound = 9,
                          .alignment = 1,
                          .planner = "by \"hand\"",
                          .proved_optimal = true,
                          .seed = 18446744073709551615u,
                          .seconds = 1.25e-7};

TEST(PlanCsv, CarriesACertificateOnTheFirstLine) {
  EXPECT_EQ(plan_text(kCertified, kCertifiedPlan),
            "id,lower,upper,size,offset,planner,peak,lower_bound,proved_bound,gap,proved_optimal,"
            "fixed_blocks,seed,seconds\n"
            "0,0,3,4,0,\"by \"\"hand\"\"\",9,9,9,0,true,1,18446744073709551615,1.25e-07\n"
            "1,2,9,5,4,,,,,,,,,\n");
}

TEST(PlanCsv, RoundTripsItsCertificate) {
  const CsvPlan back = plan_of(plan_text(kCertified, kCertifiedPlan));
  ASSERT_TRUE(back.certificate);
  EXPECT_EQ(*back.certificate, (PlanCertificate{.planner = "by \"hand\"",
                                                .peak = 9,
                                                .lower_bound = 9,
                                                .proved_bound = 9,
                                                .gap = 0,
                                                .proved_optimal = true,
                                                .fixed_blocks = 1,
                                                .seed = 18446744073709551615u,
                                                .seconds = 1.25e-7}));
  EXPECT_EQ(back.plan.planner, "by \"hand\"");
  EXPECT_EQ(back.plan.seed, 18446744073709551615u);
  EXPECT_EQ(back.plan.seconds, 1.25e-7);
  EXPECT_TRUE(back.trace.fixed_offsets.empty()) << "the column belongs to the plan";
  EXPECT_EQ(fault_of_certificate(*back.certificate, kCertified, back.plan), "");
  // Read as a trace, the file fixes the plan's offsets, and the certificate is ignored.
  EXPECT_EQ(trace_of_plan(plan_text(kCertified, kCertifiedPlan)).fixed_offsets,
            (std::vector<std::optional<std::uint64_t>>{0, 4}));
}

TEST(PlanCsv, KeepsAProvedBoundOnlyWhereItIsPossible) {
  Plan plan{.offsets = {0, 6}, .peak = 11, .lower_bound = 9, .alignment = 1, .planner = "p"};
  for (const auto& [claimed, expected] : {std::pair{10, 10}, {11, 11}, {12, 9}, {0, 9}, {9, 9}}) {
    std::string text = plan_text({.blocks = kCertified.blocks}, plan);
    text.replace(text.find("p,11,9,9,"), 9, "p,11,9," + std::to_string(claimed) + ",");
    const Plan back = plan_of(text).plan;
    EXPECT_EQ(back.proved_bound, static_cast<std::uint64_t>(expected));
    EXPECT_EQ(back.proved_optimal, expected == 11);
  }
}

TEST(PlanCsv, FindsTheCertificateOnAnyLineAndOnlyOnce) {
  const std::string header =
      "planner,peak,lower_bound,proved_bound,gap,proved_optimal,"
      "fixed_blocks,seed,seconds,id,lower,upper,size,offset\n";
  const std::string one = "p,2,2,2,0,true,0,7,0.5,", none = ",,,,,,,,,";
  const CsvPlan sorted = plan_of(header + none + "a,0,1,2,0\n" + one + "b,1,2,2,0\n");
  ASSERT_TRUE(sorted.certificate);
  EXPECT_EQ(sorted.certificate->seed, 7u);
  EXPECT_FALSE(plan_of(header + none + "a,0,1,2,0\n").certificate);
  EXPECT_EQ(plan_of(header + none + "a,0,1,2,0\n").plan.planner, "csv");
  EXPECT_FALSE(plan_of(header).certificate);
  EXPECT_FALSE(plan_of("seed,peak,id,lower,upper,size,offset\nx,y,a,0,1,2,0\n").certificate)
      << "another program's columns, not a certificate";
  const auto refused = [](const std::string& text) -> std::string {
    try {
      plan_of(text);
    } catch (const TraceError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refused(header + one + "a,0,1,2,0\n" + one + "b,1,2,2,0\n"),
            "plan.csv line 3: got a second certificate, expected one line that carries it");
  EXPECT_THAT(refused(header + "p,,2,2,0,true,0,7,0.5,a,0,1,2,0\n"),
              HasSubstr("line 2, field peak: got \"\", expected a whole number"));
  EXPECT_EQ(refused(header + "p,2,2,2,nan,true,0,7,0.5,a,0,1,2,0\n"),
            "plan.csv line 2, field gap: got \"nan\", expected a number of at least 0");
  EXPECT_EQ(refused(header + "p,2,2,2,0,yes,0,7,0.5,a,0,1,2,0\n"),
            "plan.csv line 2, field proved_optimal: got \"yes\", expected true or false");
  EXPECT_THAT(refused(header + "p,2,2,2,0,true,0,7,-1,a,0,1,2,0\n"), HasSubstr("field seconds"));
}

TEST(FaultOfCertificate, NamesTheFigureThatIsNotTrue) {
  const PlanCertificate good = *plan_of(plan_text(kCertified, kCertifiedPlan)).certificate;
  const auto fault = [&](auto change, const Plan& plan = kCertifiedPlan,
                         const Trace& trace = kCertified) {
    PlanCertificate certificate = good;
    change(certificate);
    return fault_of_certificate(certificate, trace, plan);
  };
  EXPECT_EQ(fault([](PlanCertificate& c) { c.peak = 8; }),
            "the certificate says peak 8, but it is 9");
  EXPECT_EQ(fault([](PlanCertificate& c) { c.lower_bound = 8; }),
            "the certificate says lower_bound 8, but it is 9");
  EXPECT_EQ(fault([](PlanCertificate& c) { c.gap = 0.5; }),
            "the certificate says gap 0.5, but it is 0");
  EXPECT_EQ(fault([](PlanCertificate& c) { c.proved_bound = 10; }),
            "the certificate says proved_bound 10, expected one from 9 to 9");
  EXPECT_EQ(fault([](PlanCertificate& c) { c.proved_optimal = false; }),
            "the certificate says proved_optimal false, but it is true");

  Plan high = kCertifiedPlan;
  high.peak = 12;
  const auto proves_ten = [](PlanCertificate& c) {
    c.peak = 12;
    c.gap = 1.0 / 3;
    c.proved_bound = 10;
    c.proved_optimal = false;
  };
  EXPECT_EQ(fault(proves_ten, high), "");
  EXPECT_EQ(fault(proves_ten, high, {.blocks = kCertified.blocks}),
            "the certificate is for a trace with 1 fixed offsets, but this one has 0");
  Trace fixes_more = kCertified;
  fixes_more.fixed_offsets.assign(kCertified.size(), 0);
  EXPECT_EQ(fault(proves_ten, high, fixes_more), "")
      << "a proof with fewer fixed offsets holds for more";
  EXPECT_EQ(fault([](PlanCertificate&) {}, kCertifiedPlan, {.blocks = kCertified.blocks}), "")
      << "the lower bound needs no proof";
  EXPECT_EQ(fault([](PlanCertificate& c) { c.proved_bound = 8; }),
            "the certificate says proved_bound 8, expected one from 9 to 9");
}

TEST(PlanCsv, RefusesMissingAndImpossibleOffsets) {
  EXPECT_THROW(plan_of("id,lower,upper,size\na,0,1,2\n"), TraceError);
  EXPECT_THROW(plan_of("id,lower,upper,size,offset\na,0,1,2,\n"), TraceError);
  EXPECT_THROW(plan_of("id,lower,upper,size,offset\na,0,1,2,-1\n"), TraceError);
  EXPECT_THROW(plan_of("id,lower,upper,size,offset\na,0,1,2,9223372036854775806\n"), TraceError);
  EXPECT_EQ(plan_of("id,lower,upper,size,offset\na,0,1,2,9223372036854775805\n").plan.peak,
            9223372036854775807u);
  std::ostringstream out;
  EXPECT_THROW(write_plan_csv(out, {.blocks = {{0, 1, 2}}}, Plan{}), PlanMismatch);
  EXPECT_THROW(write_plan_csv(out, {.blocks = {{0, 1, 2}}}, {.offsets = {0, 2}}), PlanMismatch);
}

TEST(MatchPlan, PutsOffsetsInTheOrderOfTheTrace) {
  const Trace trace{.blocks = {{0, 3, 4}, {3, 9, 5}}, .ids = {"a", "b"}};
  const CsvPlan csv = plan_of("id,lower,upper,size,offset\nb,3,9,5,8\na,0,3,4,0\n");
  const Plan plan = match_plan(csv, trace, 8);
  EXPECT_EQ(plan.offsets, (std::vector<std::uint64_t>{0, 8}));
  EXPECT_EQ(plan.peak, 16u);
  EXPECT_EQ(plan.alignment, 8u);
}

TEST(MatchPlan, TakesGapsFromTheTraceAndProofsOnlyForTheSameAlignment) {
  const Trace trace{.blocks = {{0, 9, 4}, {3, 9, 4}}, .gaps = {{0, 3, 9}}};
  const CsvPlan csv = plan_of("id,lower,upper,size,offset\n0,0,9,4,0\n1,3,9,4,0\n");
  const Plan plan = match_plan(csv, trace, 1);
  EXPECT_EQ(plan.lower_bound, 4u);
  EXPECT_TRUE(validate(trace, plan).valid);
  EXPECT_FALSE(validate(csv.trace, csv.plan).valid);

  const Plan high{.offsets = {0, 5},
                  .peak = 9,
                  .lower_bound = 8,
                  .proved_bound = 9,
                  .alignment = 1,
                  .planner = "p",
                  .proved_optimal = true};
  const CsvPlan certified = plan_of(plan_text({.blocks = trace.blocks}, high));
  EXPECT_EQ(match_plan(certified, {.blocks = trace.blocks}, 1).proved_bound, 9u);
  EXPECT_EQ(match_plan(certified, {.blocks = trace.blocks}, 2).proved_bound, 8u);
}

TEST(MatchPlan, NamesTheBlockThatDiffers) {
  const CsvPlan csv = plan_of("id,lower,upper,size,offset\na,0,3,4,0\nb,3,9,5,8\n");
  const auto mismatch = [&csv](const Trace& trace) -> std::string {
    try {
      match_plan(csv, trace, 1);
    } catch (const PlanMismatch& error) {
      return error.what();
    }
    return "matched";
  };
  EXPECT_EQ(mismatch({.blocks = {{0, 3, 4}, {3, 9, 5}, {0, 1, 1}}, .ids = {"a", "b", "c"}}),
            "the plan has no offset for block c");
  EXPECT_EQ(mismatch({.blocks = {{0, 3, 4}}, .ids = {"a"}}),
            "block b of the plan is not in the trace");
  EXPECT_EQ(
      mismatch({.blocks = {{0, 3, 4}, {3, 8, 5}}, .ids = {"a", "b"}}),
      "block b is alive [3, 8) with 5 bytes in the trace, but alive [3, 9) with 5 bytes in the "
      "plan");
}

}  // namespace
}  // namespace skyline
