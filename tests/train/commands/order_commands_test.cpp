#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "memory/solvers/solvers.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/parsed_json.h"
#include "tests/train/report/browser.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// OLLA's figure 3 in MB, written in its worse order, beside 100 resident bytes.
constexpr const char* kGraph = R"({"format":"skyline-graph","version":1,"name":"figure-3",
  "resident_bytes":100,
  "tensors":[{"bytes":10},{"bytes":10},{"bytes":20},{"bytes":30},{"bytes":5},
             {"bytes":10,"keep":true}],
  "ops":[{"name":"input","inputs":[],"outputs":[0]},
         {"name":"v1","inputs":[0],"outputs":[1,2]},
         {"name":"v3","inputs":[1],"outputs":[3]},
         {"name":"v2","inputs":[2],"outputs":[4]},
         {"name":"v4","inputs":[3,4],"outputs":[5]}]})";

// better_when_higher() of step_graphs.h, beside 100 resident bytes.
constexpr const char* kHard = R"({"format":"skyline-graph","version":1,
    "resident_bytes":100,
    "tensors":[{"bytes":30},{"bytes":20},{"bytes":19},{"bytes":29},{"bytes":10},{"bytes":10},
               {"bytes":20},{"bytes":10}],
    "ops":[{"name":"f","inputs":[],"outputs":[3,6]},
           {"name":"f","inputs":[3],"outputs":[4,5],"after":[0]},
           {"name":"f","inputs":[5],"outputs":[1,7],"after":[1]},
           {"name":"f","inputs":[],"outputs":[2],"after":[2]},
           {"name":"f","inputs":[1],"outputs":[],"after":[3]},
           {"name":"f","inputs":[2],"outputs":[0],"after":[4]},
           {"name":"free","inputs":[4],"outputs":[],"workspace":22,"after":[2]}]})";

class OrderCommands : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  // The file that the command writes, with one part replaced.
  std::string changed_order(const std::string& part, const std::string& by) {
    const std::string output = path("order.json");
    EXPECT_EQ(skyline_program({"order", graph_, "--output", output}).exit_code, 0);
    std::string text = read_file(output);
    EXPECT_NE(text.find(part), text.npos) << text;
    return file("changed.json", text.replace(text.find(part), part.size(), by));
  }

  TemporaryFolder folder_;
  const std::string graph_ = file("graph.json", kGraph);
};

TEST_F(OrderCommands, OrderPrintsItsKeys) {
  const Outcome outcome = skyline_program({"order", graph_, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  nlohmann::json json = outcome.json();
  EXPECT_GE(json["seconds"], 0.0);
  EXPECT_EQ(json["graph"], "figure-3");
  EXPECT_EQ(json["ops"], 5);
  EXPECT_EQ(json["resident_bytes"], 100);
  EXPECT_EQ(json["program"], 160);
  EXPECT_EQ(json["early"], 160);
  EXPECT_EQ(json["late"], 145);
  EXPECT_EQ(json["peak"], 145);
  EXPECT_EQ(json["lower_bound"], 145);
  EXPECT_EQ(json["gap"], 0.0);
  EXPECT_EQ(json["proved_optimal"], true);
  EXPECT_EQ(json["placed"], 145);
  EXPECT_EQ(json["jointly_optimal"], true);
  EXPECT_GE(json["states"], 0);
  EXPECT_GE(json["flows"], 1);
  EXPECT_EQ(json["algorithm"], "optimal");
  EXPECT_EQ(json["time_is_up"], false);
  EXPECT_EQ(json["peak_op"]["name"], "v3");
}

TEST_F(OrderCommands, OrderPrintsATableAndTheCut) {
  const std::string text = skyline_program({"order", graph_}).output;
  EXPECT_THAT(text, HasSubstr("graph          figure-3, 5 ops\n"));
  EXPECT_THAT(text, HasSubstr("program        160 B (160 bytes)\n"));
  EXPECT_THAT(text, HasSubstr("late order     145 B (145 bytes)\n"));
  EXPECT_THAT(text, HasSubstr("peak           145 B (145 bytes), 9.4 % below the program's\n"));
  EXPECT_THAT(text, HasSubstr("optimal        yes, proved: see below\n"));
  EXPECT_THAT(text,
              HasSubstr("with its plan  order 145 B, placed 145 B: no order and no plan needs "
                        "less\n"));
  EXPECT_THAT(text, HasSubstr("peaks at       op 2 (v3), number 4 of 5\n"));
  EXPECT_THAT(text,
              HasSubstr("\nWhen op 2 (v3) runs, these 2 values (15 B) and 30 B of its own must "
                        "be there in any order:\n"));
  EXPECT_THAT(text, HasSubstr("10 B  op 1 (v1), output 0   this op\n"));
  EXPECT_THAT(text, HasSubstr("5 B  op 3 (v2)             op 4 (v4)\n"));
  EXPECT_THAT(text, HasSubstr("this op: its outputs"));
}

TEST_F(OrderCommands, EveryAlgorithmsOutputPassesCheckOrder) {
  const std::string output = path("order.json");
  for (const OrderEntry& entry : all_order_algorithms()) {
    SCOPED_TRACE(entry.name);
    const Outcome ordered = skyline_program(
        {"order", graph_, "--algorithm", std::string(entry.name), "--json", "--output", output});
    ASSERT_EQ(ordered.exit_code, 0) << ordered.messages;
    EXPECT_EQ(ordered.messages, "wrote " + output + "\n");
    EXPECT_EQ(ordered.json()["algorithm"], entry.name);
    EXPECT_GE(ordered.json()["peak"], 145);
    const Outcome checked = skyline_program({"check-order", graph_, output});
    EXPECT_EQ(checked.exit_code, 0) << checked.output << checked.messages;
    EXPECT_THAT(checked.output, StartsWith("valid: 5 ops, peak "));
    EXPECT_EQ(std::ranges::count(checked.output, '\n'), 1) << "one line";
  }
}

TEST_F(OrderCommands, TheFileHasTheOrderAndItsCertificate) {
  const std::string output = path("order.json");
  ASSERT_EQ(skyline_program({"order", graph_, "--output", output}).exit_code, 0);
  const nlohmann::json json = parsed_json(read_file(output));
  EXPECT_EQ(json["format"], "skyline-order");
  EXPECT_EQ(json["order"], (nlohmann::json{0, 1, 3, 2, 4}));
  EXPECT_EQ(json["peak"], 145);
  EXPECT_EQ(json["certificate"]["bytes"], 45);
  const Outcome checked = skyline_program({"check-order", graph_, output});
  EXPECT_EQ(checked.output,
            "valid: 5 ops, peak 145 B (145 bytes): optimal, proved by the certificate\n");
  const nlohmann::json check = skyline_program({"check-order", graph_, output, "--json"}).json();
  EXPECT_EQ(check["valid"], true);
  EXPECT_EQ(check["proved_optimal"], true);
  EXPECT_EQ(check["proved_lower_bound"], 145);
}

TEST_F(OrderCommands, TheFileHasTheOrderThatWasPlaced) {
  const std::string graph = file("hard.json", kHard);
  const std::string output = path("order.json");
  const nlohmann::json json =
      skyline_program({"order", graph, "--json", "--output", output}).json();
  EXPECT_EQ(json["peak"], 152);
  EXPECT_EQ(json["placed"], 152);
  EXPECT_EQ(json["lower_bound"], 151);
  EXPECT_EQ(json["jointly_optimal"], false);
  EXPECT_EQ(parsed_json(read_file(output))["peak"], 152);
  EXPECT_EQ(skyline_program({"check-order", graph, output}).exit_code, 0);
  const std::string text = skyline_program({"order", graph}).output;
  EXPECT_THAT(text, HasSubstr("optimal        no: an order with peak 151 B exists, but its plan "
                              "needs more\n"));
  EXPECT_THAT(text, HasSubstr("order 152 B, placed 152 B: the lowest plan of "));
  const std::string baseline = skyline_program({"order", graph, "--algorithm", "program"}).output;
  EXPECT_THAT(baseline, HasSubstr("with its plan  order 159 B, placed 159 B\n"));
}

// OLLA's resident set RS(t), for the program's order and the one that was found.
TEST_F(OrderCommands, JsonHasTheResidentSetAtEachOp) {
  const nlohmann::json json = skyline_program({"order", graph_, "--json"}).json();
  EXPECT_EQ(json["program_resident_set"], (nlohmann::json{110, 140, 160, 155, 145}));
  EXPECT_EQ(json["resident_set"], (nlohmann::json{110, 140, 135, 145, 145}));
}

TEST_F(OrderCommands, ExplainWritesAPageOfTheGraph) {
  const std::string page = path("order.html");
  const Outcome outcome = skyline_program({"order", graph_, "--explain", page});
  EXPECT_EQ(outcome.messages, "wrote " + page + "\n");
  const std::string opened = opened_in_browser(read_file(page));
  if (opened.empty()) GTEST_SKIP() << kNoBrowser;
  EXPECT_THAT(opened, HasSubstr("The order of figure-3"));
  EXPECT_THAT(opened, HasSubstr("5 ops; the program’s sequence needs 160 B, this order 145 B."));
  EXPECT_THAT(opened, HasSubstr("Peak 145 B, 9.38 % less; proved: no order peaks lower."));
  EXPECT_THAT(opened, HasSubstr("must be there in any order"));
}

TEST_F(OrderCommands, TheJointProgramsPlanPassesCheck) {
  const std::string graph = file("hard.json", kHard);
  const std::string trace = path("t.csv"), plan = path("p.csv"), order = path("o.json");
  const Outcome outcome =
      skyline_program({"order", graph, "--algorithm", "olla-joint", "--write-trace", trace,
                       "--write-plan", plan, "--output", order});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.output, HasSubstr("order 152 B, placed 152 B: no order and no plan needs "
                                        "less, proved by the program\n"));
  const Outcome checked = skyline_program({"check", trace, plan});
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  EXPECT_THAT(checked.output, StartsWith("valid: "));
  EXPECT_THAT(checked.output, HasSubstr("peak 52 B (52 bytes)"));
  EXPECT_THAT(checked.output, HasSubstr("planner olla-joint"));
  EXPECT_EQ(skyline_program({"check-order", graph, order}).exit_code, 0);
  const nlohmann::json json =
      skyline_program({"order", graph, "--algorithm", "olla-joint", "--json"}).json();
  EXPECT_EQ(json["placed_lower_bound"], 152);
  EXPECT_EQ(json["jointly_optimal"], true);
}

// Two gradients, each with its update; forced, the second gradient waits for the first update.
TEST_F(OrderCommands, EarlyUpdatesSayWhatTheyCost) {
  const std::string graph = file("updates.json", R"({"format":"skyline-graph","version":1,
    "resident_bytes":0,
    "tensors":[{"bytes":50},{"bytes":10},{"bytes":1},{"bytes":60}],
    "ops":[{"name":"forward","inputs":[],"outputs":[0,1]},
           {"name":"dW","inputs":[1],"outputs":[3]},
           {"name":"other","inputs":[0],"outputs":[2]},
           {"name":"update","inputs":[3],"outputs":[]},
           {"name":"last","inputs":[2],"outputs":[]}]})");
  const std::string output = path("order.json");
  const Outcome outcome =
      skyline_program({"order", graph, "--early-updates", "--output", output, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.messages;
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["peak"], 120);
  EXPECT_EQ(json["lower_bound"], 70) << "of all orders";
  EXPECT_EQ(json["early_updates"]["updates"], 2);
  EXPECT_EQ(json["early_updates"]["lower_bound"], 120);
  EXPECT_EQ(json["early_updates"]["without"], 70);
  EXPECT_EQ(skyline_program({"check-order", graph, output}).exit_code, 0);
  for (const char* algorithm : {"olla-order", "olla-joint", "xla"}) {
    const std::string text =
        skyline_program({"order", graph, "--early-updates", "--algorithm", algorithm}).output;
    EXPECT_THAT(text, HasSubstr("forced updates  2 run early, so at least 120 B; where they need "
                                "not, 70 B: they cost 50 B\n"))
        << algorithm;
  }
}

TEST_F(OrderCommands, ATamperedOrderOrFlowIsRefused) {
  const std::pair<std::pair<const char*, const char*>, const char*> lies[] = {
      {{"[0,1,3,2,4]", "[0,1,2,3,4]"}, "the file claims peak 145, but it is 160"},
      {{"[0,1,3,2,4]", "[0,2,1,3,4]"}, "op 2 (v3) runs before op 1 (v1), which it needs"},
      {{"[0,1,3,2,4]", "[0,1,3,3,4]"}, "op 3 (v2) runs twice"},
      {{"[0,1,3,2,4]", "[0,1,3,2,5]"}, "the order has op 5, but the graph has 5"},
      {{"[0,1,3,2,4]", "[0,1,3,2]"}, "the order is of another graph, figure-3: it has 4 ops"},
      {{"\"peak\":145", "\"peak\":144"}, "the file claims peak 144, but it is 145"},
      {{"\"lower_bound\":145", "\"lower_bound\":146"}, "the file claims lower bound 146, expected"},
      {{"\"lower_bound\":145", "\"lower_bound\":101"}, "expected one from 145 to 145"},
      {{"\"proved_optimal\":true", "\"proved_optimal\":false"}, "claims proved_optimal false"},
      {{"\"certificate\":{\"bytes\":45", "\"certificate\":{\"bytes\":46"}, "4"},
      {{"\"values\":[[", "\"values\":[[5,4,1],["}, "value 5"},
  };
  for (const auto& [change, reason] : lies) {
    const std::string order = changed_order(change.first, change.second);
    const Outcome outcome = skyline_program({"check-order", graph_, order});
    EXPECT_EQ(outcome.exit_code, 1) << change.second;
    EXPECT_THAT(outcome.output, StartsWith("invalid: ")) << change.second;
    EXPECT_THAT(outcome.output, HasSubstr(reason)) << change.second;
    const nlohmann::json json = skyline_program({"check-order", graph_, order, "--json"}).json();
    EXPECT_EQ(json["valid"], false);
    EXPECT_EQ(json["proved_optimal"], false);
  }
}

TEST_F(OrderCommands, AnOrderOfAnotherGraphIsRefused) {
  const std::string output = path("order.json");
  ASSERT_EQ(skyline_program({"order", graph_, "--output", output}).exit_code, 0);
  std::string other = kGraph;
  other.replace(other.find("\"bytes\":30"), 10, "\"bytes\":31");
  const Outcome outcome = skyline_program({"check-order", file("other.json", other), output});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, StartsWith("invalid: the order is of another graph, figure-3: its "
                                         "hash is "));
}

TEST_F(OrderCommands, AnOrderWithoutClaimsIsChecked) {
  const Outcome outcome =
      skyline_program({"check-order", graph_, file("o.json", R"({"order":[0,1,2,3,4]})")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output,
            "valid: 5 ops, peak 160 B (160 bytes): nothing is claimed about other orders\n");
}

TEST_F(OrderCommands, ASearchsBoundIsOnlyAClaim) {
  const Outcome outcome = skyline_program(
      {"check-order", graph_,
       file("o.json", R"({"order":[0,1,3,2,4],"lower_bound":145,"proved_optimal":true})")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("claimed optimal by a search, which was not repeated"));
  const Outcome below = skyline_program(
      {"check-order", graph_, file("p.json", R"({"order":[0,1,2,3,4],"lower_bound":120})")});
  EXPECT_THAT(below.output, HasSubstr("no order is below 120 B, claimed by a search"));
}

TEST_F(OrderCommands, ReadsStandardInput) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"order", "-"},
        std::vector<std::string>{"check-order", "-", file("o.json", R"({"order":[0,1,2,3,4]})")}}) {
    std::istringstream input(kGraph);
    std::streambuf* before = std::cin.rdbuf(input.rdbuf());
    const Outcome outcome = skyline_program(arguments);
    std::cin.rdbuf(before);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  }
  const Outcome both = skyline_program({"check-order", "-", "-"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.messages, HasSubstr("only one of GRAPH and ORDER can be standard input"));
}

TEST_F(OrderCommands, BadInputEndsInOneSentenceAndWritesNothing) {
  const std::string output = path("order.json");
  const std::string cycle = file("cycle.json", R"({"format":"skyline-graph","version":1,
    "resident_bytes":0,"tensors":[{"bytes":1},{"bytes":1}],
    "ops":[{"name":"a","inputs":[1],"outputs":[0]},{"name":"b","inputs":[0],"outputs":[1]}]})");
  const Outcome outcome = skyline_program({"order", cycle, "--output", output});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("cycle.json op 0 (a): waits for itself: it needs op 1"));
  EXPECT_EQ(std::ranges::count(outcome.messages, '\n'), 1);
  EXPECT_FALSE(std::filesystem::exists(output));

  const Outcome missing = skyline_program({"order", "/nowhere/g.json"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.messages, HasSubstr("cannot read /nowhere/g.json: No such file"));
  const Outcome folder = skyline_program({"order", folder_.path().string()});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.messages, HasSubstr("the text cannot be read"));
  const Outcome unknown = skyline_program({"order", graph_, "--algorithm", "optimall"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.messages, HasSubstr("did you mean 'optimal'?"));
  const Outcome nowhere = skyline_program({"order", graph_, "--output", "/nowhere/o.json"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.messages, HasSubstr("no folder '/nowhere' for o.json"));
  const Outcome malformed = skyline_program({"check-order", graph_, file("o.json", "{}")});
  EXPECT_EQ(malformed.exit_code, 2);
  EXPECT_THAT(malformed.messages, HasSubstr("o.json: has no order"));
}

TEST_F(OrderCommands, ATimeLimitIsTaken) {
  const nlohmann::json json =
      skyline_program({"order", graph_, "--time-limit", "5", "--json"}).json();
  EXPECT_EQ(json["peak"], 145);
  EXPECT_EQ(json["time_is_up"], false) << "it was done before";
  EXPECT_EQ(skyline_program({"order", graph_, "--time-limit", "-1"}).exit_code, 2);
}

}  // namespace
}  // namespace skyline
