#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/train/commands/plan_commands.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/parsed_json.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class PlanExplain : public tests::PlanCommands {};

TEST_F(PlanExplain, ExplainWritesAPageAndItsData) {
  const std::string page = path("story.html");
  const Outcome outcome = skyline_program({"plan", trace_, "--explain", page, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const Outcome without = skyline_program({"plan", trace_, "--json"});
  EXPECT_EQ(outcome.json()["planner"], without.json()["planner"]) << "an explanation changes none";
  EXPECT_THAT(outcome.messages,
              StartsWith("wrote " + page + "\nwrote " + path("story.json") + "\n"));
  EXPECT_THAT(read_file(page), HasSubstr("<h1>How the plan of trace.csv was made</h1>"));
  const auto story = parsed_json(read_file(path("story.json")));
  EXPECT_EQ(story["title"], "trace.csv");
  EXPECT_EQ(story["steps"][0]["sentence"],
            "The lowest line is [0, 21) at 0 B. 5 unplaced blocks live within it. Block b5 lives "
            "longest, "
            "21 ticks (next is block b4 with 12 ticks): it goes to 0 B and ends at 4 B.");
  // The name of the data file gives the same two files.
  EXPECT_EQ(skyline_program(
                {"plan", trace_, "--planner", "best-fit-by-area", "--explain", path("area.json")})
                .exit_code,
            0);
  EXPECT_EQ(parsed_json(read_file(path("area.json")))["key"], "area");
  EXPECT_TRUE(std::filesystem::exists(path("area.html")));
}

TEST_F(PlanExplain, ExplainSaysWhenThePlanIsAnothers) {
  const std::string trace = file("valley.csv", "id,lower,upper,size\na,0,3,4\nb,2,6,4\nc,5,9,4\n");
  const Outcome outcome = skyline_program({"plan", trace, "--planner", "exact", "--explain",
                                           path("e.html"), "--output", path("p.csv")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("the page explains best-fit, which needs 8 bytes; this "
                                          "plan, by exact, 8\n"));
  EXPECT_THAT(read_file(path("p.csv")), HasSubstr("exact"));
  EXPECT_EQ(parsed_json(read_file(path("e.json")))["planner"], "best-fit");
  EXPECT_THAT(skyline_program({"plan", trace, "--planner", "best-fit", "--explain", path("e.html")})
                  .messages,
              Not(HasSubstr("the page explains")));
}

TEST_F(PlanExplain, ExplainRefusesWhatItCannotTell) {
  const auto refusal = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", trace_});
    const Outcome outcome = skyline_program(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.messages;
  };
  EXPECT_THAT(refusal({"--explain", path("story.txt")}),
              HasSubstr("give it FILE.html or FILE.json, not '"));
  EXPECT_THAT(refusal({"--explain", path("nowhere/story.html")}),
              HasSubstr("nowhere' for story.html"));
  std::string many = "id,lower,upper,size\n";
  for (int i = 0; i < 20001; ++i) many += std::to_string(i) + ",0,1,1\n";
  const Outcome large =
      skyline_program({"plan", file("many.csv", many), "--explain", path("e.html")});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.messages,
              HasSubstr("--explain takes traces of up to 20000 blocks, this one has 20001"));
  const std::string fixed = file("fixed.csv", "id,lower,upper,size,offset\na,0,3,4,0\n");
  EXPECT_THAT(skyline_program({"plan", fixed, "--explain", path("e.html")}).messages,
              HasSubstr("without fixed offsets"));
  EXPECT_FALSE(std::filesystem::exists(path("e.html")));
}

}  // namespace
}  // namespace skyline
