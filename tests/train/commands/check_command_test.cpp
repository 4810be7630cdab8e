// The certificates that `check` believes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Claims of a search are claims until --verify repeats the search.
class ForgedProofs : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  // A plan for the trace of a and b, whose optimum is 8, with this certificate.
  Outcome checked(const std::string& claims, std::vector<std::string> flags = {}) {
    const std::string plan = file("forged.csv",
                                  "id,lower,upper,size,offset,planner,peak,lower_bound,"
                                  "proved_bound,gap,proved_optimal,fixed_blocks,seed,seconds\n"
                                  "a,0,2,4,0," +
                                      claims + "b,1,3,4,6,,,,,,,,,\n");
    flags.insert(flags.begin(), {"check", trace_of_two_, plan});
    return skyline_program(flags);
  }
  TemporaryFolder folder_;
  const std::string trace_of_two_ = file("two.csv", "id,lower,upper,size\na,0,2,4\nb,1,3,4\n");
  const std::string forged_ = "exact,10,8,10,0.25,true,0,0,1\n";
};

TEST_F(ForgedProofs, AreReportedAsClaims) {
  const Outcome text = checked(forged_);
  EXPECT_EQ(text.exit_code, 0) << "the plan is valid";
  EXPECT_THAT(text.output,
              HasSubstr("claimed, not proved: optimal; --verify repeats the search\n"));
  EXPECT_THAT(text.output, HasSubstr("its peak, lower bound and gap are correct\n"));
  EXPECT_THAT(text.output, Not(HasSubstr("its figures are correct")));
  const nlohmann::json json = checked(forged_, {"--json"}).json();
  EXPECT_EQ(json["claimed_optimal"], true);
  EXPECT_EQ(json["proved_optimal"], false);
  EXPECT_TRUE(json["verdict"].is_null());
}

TEST_F(ForgedProofs, AreRefutedByVerify) {
  const Outcome text = checked(forged_, {"--verify"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.output,
            "invalid: the certificate says that no plan is below 10, but there is one\n");
  EXPECT_EQ(checked(forged_, {"--verify", "--json"}).json()["verdict"], "refuted");
  EXPECT_EQ(checked("exact,10,8,9,0.25,false,0,0,1\n", {"--verify"}).exit_code, 1);
  EXPECT_EQ(checked("exact,10,8,8,0.25,false,0,0,1\n", {"--verify"}).exit_code, 0)
      << "nothing is claimed beyond the lower bound";
}

// The fixed block leaves too little room below it, so the optimum, 9, is above the lower bound, 6.
TEST_F(ForgedProofs, HonestOnesAreProvedByVerifyAndOpenWithoutTime) {
  const std::string trace = file("fixed.csv", "id,lower,upper,size,offset\na,0,4,2,3\nb,0,4,4,\n");
  const std::string plan = (folder_.path() / "plan.csv").string();
  const nlohmann::json planned =
      skyline_program({"plan", trace, "--planner", "exact", "--json", "--output", plan}).json();
  ASSERT_EQ(planned["lower_bound"], 6);
  ASSERT_EQ(planned["peak"], 9);
  ASSERT_EQ(planned["proved_optimal"], true);
  EXPECT_EQ(skyline_program({"check", trace, plan, "--json"}).json()["proof"], "claimed");
  const Outcome proved = skyline_program({"check", trace, plan, "--verify"});
  EXPECT_EQ(proved.exit_code, 0) << proved.output;
  EXPECT_THAT(proved.output, HasSubstr("optimal, proved: the search was repeated\n"));
  EXPECT_THAT(proved.output, HasSubstr("its figures are correct"));
  const Outcome open = skyline_program({"check", trace, plan, "--verify", "--time-limit", "0"});
  EXPECT_EQ(open.exit_code, 3) << open.output;
  EXPECT_THAT(open.output, HasSubstr("the search was repeated, but did not settle it"));
  const Outcome useless = skyline_program({"check", trace, plan, "--time-limit", "1"});
  EXPECT_EQ(useless.exit_code, 2);
  EXPECT_THAT(useless.messages, HasSubstr("--time-limit is for --verify"));
}

// MiniMalloc's instance D had been open: no plan at its lower bound was known.
TEST(CheckCommand, AcceptsThePlanThatClosesMiniMallocsD) {
  const std::string plan = SKYLINE_PLANS "/minimalloc_d.csv";
  const nlohmann::json json =
      skyline_program({"check", plan, plan, "--ignore-offsets", "--json"}).json();
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["peak"], 986112);
  EXPECT_EQ(json["lower_bound"], 986112);
  EXPECT_EQ(json["proof"], "checked");
  EXPECT_EQ(json["proved_optimal"], true);
}

}  // namespace
}  // namespace skyline
