#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "memory/planner.h"
#include "tests/train/temporary_folder.h"
#include "train/atomic_file.h"
#include "train/commands/commands.h"

namespace skyline {
namespace {

using testing::HasSubstr;

struct Outcome {
  int exit_code = 0;
  std::string output, messages;
  nlohmann::json json() const { return nlohmann::json::parse(output); }
};

Outcome skyline_program(std::vector<std::string> arguments) {
  std::vector<const char*> raw = {"skyline"};
  for (const std::string& argument : arguments) raw.push_back(argument.c_str());
  std::ostringstream output, messages;
  Outcome outcome;
  outcome.exit_code = run_program(all_commands(), raw, {output, messages, {}});
  outcome.output = output.str();
  outcome.messages = messages.str();
  return outcome;
}

class PlanCommands : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  TemporaryFolder folder_;
  const std::string trace_ = file(
      "trace.csv", "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n");
};

TEST_F(PlanCommands, PlanPrintsItsKeys) {
  const Outcome outcome = skyline_program({"plan", trace_, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["blocks"], 5);
  EXPECT_EQ(json["lower_bound"], 12);
  EXPECT_EQ(json["peak"], 12);
  EXPECT_EQ(json["gap"], 0.0);
  EXPECT_EQ(json["planner"], "best-fit");
  EXPECT_EQ(json["proved_optimal"], true);
  EXPECT_EQ(json["feasible"], true);
  EXPECT_GE(json["seconds"], 0.0);
  EXPECT_EQ(json.size(), 8u);
}

TEST_F(PlanCommands, PlanDrawsTheMap) {
  const Outcome outcome = skyline_program({"plan", trace_});
  EXPECT_THAT(outcome.output, HasSubstr("lower bound"));
  EXPECT_THAT(outcome.output, HasSubstr("12 B ┤####"));
}

TEST_F(PlanCommands, CapacityIsAnsweredEitherWay) {
  EXPECT_EQ(skyline_program({"plan", trace_, "--capacity", "12B"}).exit_code, 0);
  const Outcome never = skyline_program({"plan", trace_, "--capacity", "11B", "--json"});
  EXPECT_EQ(never.exit_code, 1);
  EXPECT_EQ(never.json()["feasible"], false);
}

TEST_F(PlanCommands, AlignmentComesFromTheOptionOrTheTrace) {
  EXPECT_EQ(skyline_program({"plan", trace_, "--alignment", "512B", "--json"}).json()["peak"],
            1536);
  const std::string aligned = file("aligned.csv", "id,lower,upper,size,alignment\na,0,1,4,64\n");
  EXPECT_EQ(skyline_program({"plan", aligned, "--json"}).json()["peak"], 64);
}

TEST_F(PlanCommands, EveryPlannersOutputPassesCheck) {
  const std::string output = (folder_.path() / "plan.csv").string();
  for (const PlannerEntry& entry : planners()) {
    const Outcome planned = skyline_program({"plan", trace_, "--planner", std::string(entry.name),
                                             "--alignment", "512B", "--output", output});
    ASSERT_EQ(planned.exit_code, 0) << planned.messages;
    const Outcome checked = skyline_program({"check", trace_, output, "--json"});
    EXPECT_EQ(checked.exit_code, 0);
    EXPECT_EQ(checked.json(), (nlohmann::json{{"valid", true}, {"peak", 1536}, {"reason", ""}}));
  }
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
}

TEST_F(PlanCommands, BadInputEndsInOneSentence) {
  const std::string malformed = file("t.csv", "id,lower,upper,size\na,0,1,x\n");
  const Outcome outcome = skyline_program({"plan", malformed});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages, HasSubstr("t.csv line 2, field size: got \"x\", expected a whole"));
  const Outcome missing = skyline_program({"plan", "/nowhere/t.csv"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.messages, HasSubstr("cannot read /nowhere/t.csv: No such file or directory"));
  const Outcome unknown = skyline_program({"plan", trace_, "--planner", "best-fitt"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.messages, HasSubstr("did you mean 'best-fit'?"));
}

}  // namespace
}  // namespace skyline
