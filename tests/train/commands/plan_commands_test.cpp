#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "memory/solvers/solvers.h"
#include "tests/train/commands/plan_commands.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/parsed_json.h"
#include "train/checkpoints/files.h"
#include "train/lab/plan_answer.h"

namespace skyline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using tests::PlanCommands;

std::string text_of(const std::filesystem::path& path) { return read_file(path); }

TEST_F(PlanCommands, PlanPrintsItsKeys) {
  const Outcome outcome = skyline_program({"plan", trace_, "--json", "--seed", "7"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  nlohmann::json json = outcome.json();
  EXPECT_GE(json["seconds"], 0.0);
  EXPECT_GT(json["validation_seconds"], 0.0);
  EXPECT_FALSE(json["planner"].get<std::string>().empty());
  json.erase("seconds");
  json.erase("validation_seconds");
  json.erase("planner");
  EXPECT_EQ(json, (nlohmann::json{{"blocks", 5},
                                  {"lower_bound", 12},
                                  {"peak", 12},
                                  {"gap", 0.0},
                                  {"proved_optimal", true},
                                  {"feasible", true},
                                  {"proved_bound", 12},
                                  {"seed", 7},
                                  {"alignment", 1},
                                  {"capacity", nullptr},
                                  {"fixed_blocks", 0},
                                  {"time_is_up", false},
                                  {"out_of_time", false},
                                  {"solver", nullptr},
                                  {"preplaced_blocks", nullptr}}));
}

TEST_F(PlanCommands, PlanPrintsATableAndTheMap) {
  const Outcome outcome =
      skyline_program({"plan", trace_, "--planner", "best-fit", "--capacity", "16B"});
  EXPECT_THAT(outcome.output, HasSubstr("blocks       5\n"));
  EXPECT_THAT(outcome.output, HasSubstr("lower bound  12 B (12 bytes)\n"));
  EXPECT_THAT(outcome.output, HasSubstr("optimal      yes, proved: the peak is the lower bound\n"));
  EXPECT_THAT(outcome.output,
              HasSubstr("capacity     16 B (16 bytes)\nfeasible     yes, the plan fits\n"));
  EXPECT_THAT(outcome.output, HasSubstr("planner      best-fit, seed 0\n"));
  EXPECT_THAT(outcome.output, HasSubstr("12 B ┤####"));
}

TEST_F(PlanCommands, CapacityBelowTheLowerBoundIsAnsweredAtOnce) {
  EXPECT_EQ(skyline_program({"plan", trace_, "--capacity", "12B"}).exit_code, 0);
  const std::string output = path("plan.csv");
  const Outcome never =
      skyline_program({"plan", trace_, "--capacity", "11B", "--json", "--output", output});
  EXPECT_EQ(never.exit_code, 1);
  const nlohmann::json json = never.json();
  EXPECT_EQ(json["feasible"], false);
  EXPECT_EQ(json["lower_bound"], 12);
  EXPECT_EQ(json["proved_bound"], 12);
  EXPECT_EQ(json["capacity"], 11);
  EXPECT_TRUE(json["peak"].is_null()) << "nothing was planned";
  EXPECT_TRUE(json["planner"].is_null());
  EXPECT_EQ(never.messages, "no plan fits: the lower bound is 12 bytes, the capacity 11 bytes\n");
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_THAT(skyline_program({"plan", trace_, "--capacity", "11B"}).output,
              HasSubstr("feasible     no, proved: 12 B (12 bytes) are in use at one tick"));
}

// best-fit-by-size needs one byte more than the lower bound here.
TEST_F(PlanCommands, AnOpenCapacityIsSaidToBeOpen) {
  const std::string loose =
      file("loose.csv",
           "id,lower,upper,size\n0,3,6,4\n1,3,7,4\n2,2,4,6\n3,6,9,2\n4,2,6,4\n"
           "5,6,9,3\n6,6,7,6\n7,5,9,1\n");
  const Outcome open =
      skyline_program({"plan", loose, "--planner", "best-fit-by-size", "--capacity", "18B"});
  EXPECT_EQ(open.exit_code, 1);
  EXPECT_THAT(open.output, HasSubstr("peak         19 B (19 bytes)\n"));
  EXPECT_THAT(open.output, HasSubstr("optimal      not proved\n"));
  EXPECT_THAT(open.output, HasSubstr("feasible     not found; whether a plan fits is open\n"));
  const Outcome json = skyline_program(
      {"plan", loose, "--planner", "best-fit-by-size", "--capacity", "18B", "--json"});
  EXPECT_TRUE(json.json()["feasible"].is_null());
}

TEST_F(PlanCommands, TimeUpIsSaid) {
  PlanResult answer{.lower_bound = 8,
                    .time_limit_seconds = 0.5,
                    .plan = Plan{.peak = 10, .lower_bound = 8, .proved_bound = 8},
                    .seconds = 0.501};
  EXPECT_TRUE(answer.time_is_up());
  EXPECT_THAT(answer.text(), HasSubstr("501 ms, the limit of 0.5 s: the best plan so far"));
  EXPECT_EQ(to_json(answer)["time_is_up"], true);
  answer.plan->out_of_time = true;
  answer.plan->planner = "program-order";
  EXPECT_THAT(answer.text(),
              HasSubstr("501 ms, the limit of 0.5 s: stopped within the first pass"));
  EXPECT_THAT(answer.text(), HasSubstr("program-order, seed 0 (the planner asked for placed "
                                       "nothing in time)"));
  EXPECT_EQ(to_json(answer)["out_of_time"], true);
  answer.plan->out_of_time = false;
  answer.capacity = 10;
  EXPECT_FALSE(answer.time_is_up()) << "it found what was asked for";
  answer.capacity.reset();
  answer.seconds = 0.2;
  EXPECT_FALSE(answer.time_is_up()) << "the planner was done";
}

TEST_F(PlanCommands, APlannerWithoutTimeSaysSo) {
  std::string text = "id,lower,upper,size\n";
  for (int i = 0; i < 5000; ++i) {
    text += fmt::format("{},{},{},{}\n", i, i, 10000 - (i * 7919) % 4000, 1 + i % 97);
  }
  const std::string trace = file("many.csv", text), output = path("many_plan.csv");
  const Outcome outcome = skyline_program({"plan", trace, "--planner", "greedy-by-size",
                                           "--time-limit", "0", "--json", "--output", output});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["out_of_time"], true);
  EXPECT_EQ(outcome.json()["time_is_up"], true);
  EXPECT_EQ(outcome.json()["planner"], "program-order");
  EXPECT_EQ(skyline_program({"check", trace, output}).exit_code, 0);
  const Outcome explained =
      skyline_program({"plan", trace_, "--time-limit", "1", "--explain", path("e.html")});
  EXPECT_EQ(explained.exit_code, 2);
  EXPECT_THAT(explained.messages, HasSubstr("--explain shows a whole pass"));
}

TEST_F(PlanCommands, AProofBeyondTheLowerBoundIsAnAnswer) {
  const PlanResult answer{.blocks = 2,
                          .lower_bound = 8,
                          .capacity = 9,
                          .plan = Plan{.peak = 10,
                                       .lower_bound = 8,
                                       .proved_bound = 10,
                                       .planner = "exact",
                                       .proved_optimal = true}};
  EXPECT_EQ(answer.feasible(), false);
  EXPECT_THAT(answer.text(), HasSubstr("no, proved: no plan is below 10 B (10 bytes)"));
  EXPECT_THAT(answer.text(), HasSubstr("proved bound  10 B (10 bytes)"));
  EXPECT_THAT(answer.text(), HasSubstr("yes, proved: no plan has a lower peak"));
}

TEST_F(PlanCommands, AlignmentComesFromTheOptionOrTheTrace) {
  EXPECT_EQ(skyline_program({"plan", trace_, "--alignment", "512B", "--json"}).json()["peak"],
            1536);
  const std::string header = "id,lower,upper,size,alignment,offset\n";
  const std::string aligned = file("aligned.csv", header + "a,0,5,10,64,\nb,0,5,10,8,\n");
  const Outcome within = skyline_program({"plan", aligned, "--capacity", "26", "--json"});
  EXPECT_EQ(within.exit_code, 0) << "no size is rounded";
  EXPECT_EQ(within.json()["peak"], 26);
  EXPECT_EQ(within.json()["alignment"], 8) << "all offsets are multiples of it";
  EXPECT_EQ(skyline_program({"plan", aligned, "--capacity", "25"}).exit_code, 1);
  EXPECT_EQ(skyline_program({"plan", aligned, "--alignment", "64", "--json"}).json()["peak"], 128);
  const std::string plan = file("aligned.plan.csv", header + "a,0,5,10,64,0\nb,0,5,10,8,16\n");
  EXPECT_EQ(skyline_program({"check", aligned, plan}).exit_code, 0);
  EXPECT_THAT(skyline_program({"check", aligned, plan, "--alignment", "64"}).output,
              HasSubstr("block b begins at 16, which is not a multiple of 64"));
}

TEST_F(PlanCommands, APlanForAGivenAlignmentIsCheckedWithIt) {
  const std::string plan = path("aligned.plan.csv");
  ASSERT_EQ(skyline_program({"plan", trace_, "--alignment", "512", "--output", plan}).exit_code, 0);
  const Outcome checked = skyline_program({"check", trace_, plan, "--json"});
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  EXPECT_EQ(checked.json()["peak"], 1536);
  EXPECT_EQ(checked.json()["proof"], "checked");
}

TEST_F(PlanCommands, BlocksWithoutBytesTakeNone) {
  const std::string text = "id,lower,upper,size\na,0,5,0\nb,0,5,10\nc,0,5,0\n";
  const std::string trace = file("zero.csv", text);
  EXPECT_EQ(skyline_program({"plan", trace, "--json"}).json()["peak"], 10);
}

TEST_F(PlanCommands, ReadsStandardInput) {
  std::istringstream input(text_of(trace_));
  std::streambuf* before = std::cin.rdbuf(input.rdbuf());
  const Outcome outcome = skyline_program({"plan", "-", "--json"});
  std::cin.rdbuf(before);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["peak"], 12);
}

TEST_F(PlanCommands, EveryPlannersOutputPassesCheck) {
  const std::string output = path("plan.csv");
  for (const PlannerEntry& entry : all_planners()) {
    const Outcome planned = skyline_program({"plan", trace_, "--planner", std::string(entry.name),
                                             "--alignment", "512B", "--output", output});
    ASSERT_EQ(planned.exit_code, 0) << planned.messages;
    EXPECT_EQ(planned.messages, "wrote " + output + "\n");
    const Outcome checked = skyline_program({"check", trace_, output, "--json"});
    EXPECT_EQ(checked.exit_code, 0);
    const nlohmann::json json = checked.json();
    EXPECT_EQ(json["valid"], true);
    EXPECT_EQ(json["peak"], 1536);
    EXPECT_EQ(json["reason"], "");
    EXPECT_EQ(json["proof"], "checked");
    EXPECT_EQ(json["certificate"]["proved_optimal"], true);
    EXPECT_EQ(json["certificate"]["fixed_blocks"], 0);
  }
}

TEST_F(PlanCommands, FixedOffsetsAreKept) {
  const std::string fixed = file("fixed.csv",
                                 "id,lower,upper,size,offset\nb1,0,3,4,\nb2,3,9,4,-1\nb3,0,9,4,8\n"
                                 "b4,9,21,4,\nb5,0,21,4,4\n");
  const std::string output = path("plan.csv");
  const Outcome planned =
      skyline_program({"plan", fixed, "--planner", "greedy-by-size", "--json", "--output", output});
  ASSERT_EQ(planned.exit_code, 0) << planned.messages;
  EXPECT_EQ(planned.json()["fixed_blocks"], 2);
  EXPECT_EQ(skyline_program({"check", fixed, output}).exit_code, 0);
  // Without fixed offsets the same plan is valid for the trace.
  EXPECT_EQ(skyline_program({"check", trace_, output}).exit_code, 0);

  const std::string moved = file("moved.csv",
                                 "id,lower,upper,size,offset\nb1,0,3,4,4\nb2,3,9,4,4\nb3,0,9,4,8\n"
                                 "b4,9,21,4,4\nb5,0,21,4,0\n");
  EXPECT_EQ(skyline_program({"check", trace_, moved}).exit_code, 0);
  const Outcome invalid = skyline_program({"check", fixed, moved});
  EXPECT_EQ(invalid.exit_code, 1);
  EXPECT_EQ(invalid.output, "invalid: block b5 begins at 0, but is fixed at 4\n");
  EXPECT_EQ(skyline_program({"check", fixed, moved, "--ignore-offsets"}).exit_code, 0);
}

TEST_F(PlanCommands, AFixedOffsetBoundsEveryPlan) {
  const std::string high = file("high.csv", "id,lower,upper,size,offset\na,0,3,4,96\nb,0,3,4,\n");
  const nlohmann::json json =
      skyline_program({"plan", high, "--planner", "greedy-by-size", "--capacity", "99B", "--json"})
          .json();
  EXPECT_EQ(json["lower_bound"], 8);
  EXPECT_EQ(json["proved_bound"], 100);
  EXPECT_EQ(json["feasible"], false);
  EXPECT_EQ(json["proved_optimal"], true);
}

TEST_F(PlanCommands, APlanFileIsKeptAsItIsOrPlannedAfresh) {
  const std::string high = file("high.csv",
                                "id,lower,upper,size,offset\nb1,0,3,4,16\nb2,3,9,4,4\nb3,0,9,4,8\n"
                                "b4,9,21,4,4\nb5,0,21,4,0\n");
  const Outcome kept = skyline_program({"plan", high, "--json"});
  EXPECT_EQ(kept.exit_code, 0) << kept.messages;
  EXPECT_EQ(kept.json()["peak"], 20);
  EXPECT_EQ(kept.json()["planner"], "fixed");
  EXPECT_EQ(kept.json()["fixed_blocks"], 5);
  EXPECT_THAT(skyline_program({"plan", high}).output,
              HasSubstr("blocks        5, 5 at fixed offsets\n"));
  EXPECT_EQ(skyline_program({"plan", high, "--ignore-offsets", "--json"}).json()["peak"], 12);

  const std::string overlapping =
      file("bad.csv", "id,lower,upper,size,offset\na,0,3,4,0\nb,2,9,4,3\nc,0,1,1,-1\n");
  const Outcome refused = skyline_program({"plan", overlapping});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.messages, HasSubstr("fixed offsets cannot be kept: block a"));
  EXPECT_THAT(refused.messages, HasSubstr("share bytes [3, 4) at tick 2"));
  const Outcome unaligned = skyline_program({"plan", high, "--alignment", "16B"});
  EXPECT_EQ(unaligned.exit_code, 2);
  EXPECT_THAT(unaligned.messages, HasSubstr("begins at 4, which is not a multiple of 16"));
  const Outcome unable = skyline_program({"plan",
                                          file("one.csv",
                                               "id,lower,upper,size,offset\na,0,3,4,0\n"
                                               "b,2,9,4,\n"),
                                          "--planner", "best-fit"});
  EXPECT_EQ(unable.exit_code, 2);
  EXPECT_THAT(unable.messages, HasSubstr("planner 'best-fit' cannot keep"));
  EXPECT_THAT(unable.messages, HasSubstr("greedy-by-size"));
}

TEST_F(PlanCommands, GapsAreUsedAndChecked) {
  const std::string gaps = file("gaps.csv", "id,lower,upper,size,gaps\na,0,9,4,3-6\nb,3,6,4,\n");
  const Outcome outcome = skyline_program({"plan", gaps});
  EXPECT_THAT(outcome.output, HasSubstr("2, 1 gaps\n"));
  EXPECT_THAT(outcome.output, HasSubstr("4 B (4 bytes)"));
  const std::string shared =
      file("shared.csv", "id,lower,upper,size,offset\na,0,9,4,0\nb,3,6,4,0\n");
  EXPECT_EQ(skyline_program({"check", gaps, shared}).exit_code, 0);
  const std::string window =
      file("window.csv", "id,lower,upper,size,gaps\na,0,9,4,3-6@0:2\nb,3,6,4,\n");
  EXPECT_EQ(skyline_program({"check", window, shared}).exit_code, 1) << "it stays in use";
}

TEST_F(PlanCommands, CheckNamesWhatIsWrong) {
  const std::string overlapping = file(
      "bad.csv",
      "id,lower,upper,size,offset\nb1,0,3,4,8\nb2,3,9,4,6\nb3,0,9,4,4\nb4,9,21,4,4\nb5,0,21,4,0\n");
  const Outcome invalid = skyline_program({"check", trace_, overlapping, "--json"});
  EXPECT_EQ(invalid.exit_code, 1);
  EXPECT_EQ(invalid.json()["valid"], false);
  EXPECT_THAT(invalid.json()["reason"].get<std::string>(),
              HasSubstr("share bytes [6, 8) at tick 3"));

  const std::string other = file("other.csv", "id,lower,upper,size,offset\nb1,0,3,4,8\n");
  const Outcome mismatch = skyline_program({"check", trace_, other});
  EXPECT_EQ(mismatch.exit_code, 1);
  EXPECT_EQ(mismatch.output, "invalid: the plan has no offset for block b2\n");
  EXPECT_TRUE(skyline_program({"check", trace_, other, "--json"}).json()["peak"].is_null());
}

// Changes one figure of a plan file's certificate at a time.
TEST_F(PlanCommands, CheckBelievesNoCertificate) {
  const std::string plan = path("plan.csv");
  ASSERT_EQ(
      skyline_program({"plan", trace_, "--planner", "best-fit", "--seed", "3", "--output", plan})
          .exit_code,
      0);
  const Outcome good = skyline_program({"check", trace_, plan});
  EXPECT_THAT(good.output, HasSubstr("valid: 5 blocks, peak 12 B (12 bytes)\nlower bound 12 B (12 "
                                     "bytes), gap 0 %: optimal, proved: the peak is the lower "
                                     "bound\ncertificate: planner best-fit, seed 3, "));
  const std::string text = text_of(plan);
  const std::string figures = ",best-fit,12,12,12,0,true,0,3,";
  const auto checked_with = [&](const std::string& claims) {
    std::string changed = text;
    changed.replace(changed.find(figures), figures.size(), claims);
    return skyline_program({"check", trace_, file("changed.csv", changed), "--json"});
  };
  EXPECT_EQ(checked_with(figures).json()["valid"], true);
  const std::pair<const char*, const char*> lies[] = {
      {",best-fit,11,12,12,0,true,0,3,", "the certificate says peak 11, but it is 12"},
      {",best-fit,12,11,12,0,true,0,3,", "the certificate says lower_bound 11, but it is 12"},
      {",best-fit,12,12,13,0,true,0,3,", "the certificate says proved_bound 13, expected one from"},
      {",best-fit,12,12,12,0.5,true,0,3,", "the certificate says gap 0.5, but it is 0"},
      {",best-fit,12,12,12,0,false,0,3,", "the certificate says proved_optimal false, but"}};
  for (const auto& [claims, reason] : lies) {
    const Outcome outcome = checked_with(claims);
    EXPECT_EQ(outcome.exit_code, 1) << claims;
    EXPECT_EQ(outcome.json()["valid"], false);
    EXPECT_THAT(outcome.json()["reason"].get<std::string>(), HasSubstr(reason));
  }
  const Outcome malformed = checked_with(",best-fit,twelve,12,12,0,true,0,3,");
  EXPECT_EQ(malformed.exit_code, 2);
  EXPECT_THAT(malformed.messages, HasSubstr("changed.csv line 2, field peak: got \"twelve\""));
}

TEST_F(PlanCommands, CheckTellsProofsFromClaims) {
  const std::string trace = file("two.csv", "id,lower,upper,size\na,0,2,4\nb,1,3,4\n");
  const std::string certificate =
      "id,lower,upper,size,offset,planner,peak,lower_bound,proved_bound,"
      "gap,proved_optimal,fixed_blocks,seed,seconds\n";
  const auto checked = [&](const std::string& claims) {
    const std::string plan =
        file("plan.csv", certificate + "a,0,2,4,0," + claims + "b,1,3,4,6,,,,,,,,,\n");
    return skyline_program({"check", trace, plan, "--json"}).json()["proof"];
  };
  EXPECT_EQ(checked("exact,10,8,10,0.25,true,0,0,1\n"), "claimed");
  EXPECT_EQ(checked("exact,10,8,9,0.25,false,0,0,1\n"), "claimed");
  EXPECT_EQ(checked("exact,10,8,8,0.25,false,0,0,1\n"), "none");
  const std::string plain = file("plain.csv", "id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,6\n");
  const Outcome outcome = skyline_program({"check", trace, plain});
  EXPECT_EQ(outcome.output,
            "valid: 2 blocks, peak 10 B (10 bytes)\nlower bound 8 B (8 bytes), gap "
            "25 %: nothing is proved beyond the lower bound\nno certificate\n");
}

TEST_F(PlanCommands, AnEmptyTraceHasAnEmptyPlan) {
  const std::string empty = file("empty.csv", "id,lower,upper,size\n"), plan = path("plan.csv");
  const Outcome outcome =
      skyline_program({"plan", empty, "--json", "--output", plan, "--explain", path("e.html")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.json()["peak"], 0);
  EXPECT_EQ(outcome.json()["proved_optimal"], true);
  const Outcome checked = skyline_program({"check", empty, plan, "--json"});
  EXPECT_EQ(checked.json()["valid"], true);
  EXPECT_EQ(checked.json()["peak"], 0);
  EXPECT_TRUE(checked.json()["certificate"].is_null()) << "no line could carry it";
}

TEST_F(PlanCommands, APlannersLimitsAreNamedInOneLine) {
  std::string many = "id,lower,upper,size\n";
  for (int i = 0; i < 1001; ++i) many += std::to_string(i) + ",0,1,1\n";
  for (const char* planner : {"mip", "smt"}) {
    const Outcome refused = skyline_program({"plan", file("many.csv", many), "--planner", planner});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.messages, fmt::format("error: [{}] too large for this planner: blocks, got "
                                            "1001, expected at most 1000\n",
                                            planner));
  }
}

TEST_F(PlanCommands, TellsWhatTheSolverSays) {
  const Outcome outcome = skyline_program({"plan", trace_, "--planner", "mip", "--json"});
  const nlohmann::json solver = outcome.json()["solver"];
  EXPECT_EQ(solver["name"], "CBC");
  EXPECT_EQ(solver["status"], "optimal");
  EXPECT_EQ(solver["bound"], 12);
  EXPECT_GE(solver["nodes"], 0);
  EXPECT_GT(solver["seconds"], 0);
  EXPECT_THAT(skyline_program({"plan", trace_, "--planner", "mip"}).output,
              AllOf(HasSubstr("solver       CBC\n"), HasSubstr("its status   optimal\n"),
                    HasSubstr("its bound    12 B"), HasSubstr("planner      mip, seed 0\n")));
  EXPECT_TRUE(skyline_program({"plan", trace_, "--json"}).json()["solver"].is_null());
}

TEST_F(PlanCommands, TellsWhatThePyramidPlacedInAdvance) {
  const std::vector<std::string> words = {"plan", trace_, "--planner", "pyramid"};
  EXPECT_THAT(skyline_program(words).output, HasSubstr("pre-placed   2 of 5 blocks, 40.00 %\n"));
  EXPECT_EQ(skyline_program({"plan", trace_, "--planner", "pyramid", "--json"})
                .json()["preplaced_blocks"],
            2);
}

TEST_F(PlanCommands, WritesTheProgramForOtherSolvers) {
  const std::string lp = path("p.lp"), mps = path("p.mps");
  const Outcome outcome = skyline_program({"plan", trace_, "--write-lp", lp});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_EQ(outcome.messages, "wrote " + lp + "\n");
  EXPECT_THAT(text_of(lp), AllOf(HasSubstr("W = 5\nMinimize\n"), HasSubstr("Generals\n u\n")));
  EXPECT_EQ(skyline_program({"plan", trace_, "--write-lp", mps}).exit_code, 0);
  EXPECT_THAT(text_of(mps), HasSubstr("W = 5\nNAME "));
  const Outcome refused = skyline_program({"plan", trace_, "--write-lp", path("p.txt")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.messages, HasSubstr("--write-lp takes FILE.lp or FILE.mps, not"));
  const Outcome lost = skyline_program({"plan", trace_, "--write-lp", path("none/p.lp")});
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.messages, HasSubstr("none"));
}

TEST_F(PlanCommands, SaysWhenASimpleRuleNeededNoSolver) {
  const Outcome outcome = skyline_program({"plan", trace_, "--planner", "smt"});
  EXPECT_THAT(outcome.output, HasSubstr("(a simple rule; smt found nothing better)"));
  EXPECT_THAT(skyline_program({"plan", trace_}).output, Not(HasSubstr("simple rule")));
}

TEST_F(PlanCommands, BadInputEndsInOneSentenceAndWritesNothing) {
  const std::string malformed = file("t.csv", "id,lower,upper,size\na,0,1,x\n");
  const std::string output = path("plan.csv");
  const Outcome outcome = skyline_program({"plan", malformed, "--output", output});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("t.csv line 2, field size: got \"x\", expected a whole"));
  EXPECT_FALSE(std::filesystem::exists(output));
  const Outcome sums = skyline_program(
      {"plan", file("sums.csv", "id,lower,upper,size\na,0,9,9223372036854775807\nb,0,9,1\n")});
  EXPECT_EQ(sums.exit_code, 2);
  EXPECT_THAT(sums.messages, HasSubstr("sums.csv: the bytes alive at tick 0 pass"));
  const Outcome missing = skyline_program({"plan", "/nowhere/t.csv"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.messages, HasSubstr("cannot read /nowhere/t.csv: No such file or directory"));
  const Outcome unknown = skyline_program({"plan", trace_, "--planner", "best-fitt"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.messages, HasSubstr("did you mean 'best-fit'?"));
  EXPECT_EQ(skyline_program({"check", trace_, trace_}).exit_code, 2) << "a plan has offsets";
}

}  // namespace
}  // namespace skyline
