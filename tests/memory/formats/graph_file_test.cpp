#include "memory/formats/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>

#include "memory/errors.h"
#include "memory/order/greedy_order.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "memory/random_inputs.h"
#include "tests/memory/failing_buffer.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// OLLA's figure 3, with every member that a file may have.
constexpr const char* kFigure3 = R"({"format":"skyline-graph","version":1,"name":"figure 3",
  "resident_bytes":7,
  "tensors":[{"bytes":10},{"bytes":10},{"bytes":20},{"bytes":30},{"bytes":5},
             {"bytes":10,"keep":true}],
  "ops":[{"name":"input","inputs":[],"outputs":[0]},
         {"name":"v1","layer":"first","inputs":[0],"outputs":[1,2]},
         {"name":"v2","inputs":[2],"outputs":[4],"workspace":3,"comment":{"by":["any"]}},
         {"name":"v3","inputs":[1],"outputs":[3],"after":[2]},
         {"name":"v4","inputs":[3,4],"outputs":[5],"in_place":[[1,0]]}]})";

GraphFile parsed_graph(const std::string& text) {
  std::istringstream in(text);
  return read_graph(in, "g.json");
}

std::string graph_refusal(const std::string& text) {
  try {
    parsed_graph(text);
  } catch (const GraphError& error) {
    return error.what();
  }
  return "accepted";
}

std::string graph_as_text(const StepGraph& graph, const std::string& name = "") {
  std::ostringstream out;
  write_graph(out, graph, name);
  return out.str();
}

// A file with these tensors and ops, both lists without their brackets.
std::string file_with(const std::string& tensors, const std::string& ops) {
  return R"({"format":"skyline-graph","version":1,"resident_bytes":0,"tensors":[)" + tensors +
         "],\"ops\":[" + ops + "]}";
}

// Rounds of a chain of two calls.
constexpr const char* kInRounds = R"({"name":"chain","inputs":[],"outputs":[0],"workspace":9,)"
                                  R"("rounds":{"slices":[[0,4],[4,5]],"calls":[)"
                                  R"({"name":"a","layer":"first","slices":[0]},)"
                                  R"({"name":"b","slices":[0,1]}]}})";

TEST(GraphFile, KeepsRounds) {
  const std::string text =
      graph_as_text(parsed_graph(file_with(R"({"bytes":1})", kInRounds)).graph);
  EXPECT_THAT(text, HasSubstr(kInRounds));
  const GraphFile again = parsed_graph(text);
  const OpRounds& rounds = *again.graph.ops[0].rounds;
  EXPECT_EQ(rounds.slices[1].offset, 4u);
  EXPECT_EQ(rounds.slices[1].bytes, 5u);
  EXPECT_EQ(rounds.calls[0].layer, "first");
  EXPECT_THAT(rounds.calls[1].slices, ElementsAre(0, 1));
}

TEST(GraphFile, RefusesDamagedRounds) {
  const auto with_rounds = [](const std::string& rounds) {
    return graph_refusal(
        file_with("", R"({"name":"chain","inputs":[],"outputs":[],"rounds":)" + rounds + "}"));
  };
  EXPECT_THAT(with_rounds("3"), HasSubstr("rounds: got 3, expected an object with slices"));
  EXPECT_THAT(with_rounds("{}"), HasSubstr("has no slices"));
  EXPECT_THAT(with_rounds(R"({"slices":[[1]],"calls":[]})"), HasSubstr("expected [offset, bytes]"));
  EXPECT_THAT(with_rounds(R"({"slices":[[1,-2]],"calls":[]})"), HasSubstr("slices: got -2"));
  EXPECT_THAT(with_rounds(R"({"slices":[],"calls":[{"name":"a","slices":[0]}]})"),
              HasSubstr("rounds have no slice 0"));
}

TEST(GraphFile, IsReadWithEveryMember) {
  const GraphFile file = parsed_graph(kFigure3);
  EXPECT_EQ(file.name, "figure 3");
  const StepGraph& graph = file.graph;
  ASSERT_EQ(graph.values.size(), 7u);
  EXPECT_EQ(graph.values[3].bytes, 30u);
  EXPECT_TRUE(graph.values[5].kept);
  EXPECT_FALSE(graph.values[4].kept);
  EXPECT_TRUE(graph.values[6].resident);
  EXPECT_EQ(resident_bytes(graph), 7u);
  for (ValueId id = 0; id < 7; ++id) EXPECT_EQ(graph.values[id].storage, id);
  ASSERT_EQ(graph.ops.size(), 5u);
  EXPECT_EQ(graph.ops[1].name, "v1");
  EXPECT_EQ(graph.ops[1].layer, "first");
  EXPECT_THAT(graph.ops[1].outputs, ElementsAre(1, 2));
  EXPECT_EQ(graph.ops[2].workspace_bytes, 3u);
  EXPECT_THAT(graph.ops[3].after, ElementsAre(2));
  ASSERT_EQ(graph.ops[4].in_place.size(), 1u);
  EXPECT_EQ(graph.ops[4].in_place[0].input, 1);
  EXPECT_EQ(graph.ops[4].in_place[0].output, 0);
}

TEST(GraphFile, OllasFigure3PeaksAsInThePaper) {
  const OrderProblem problem = order_problem(
      parsed_graph(file_with(R"({"bytes":10},{"bytes":10},{"bytes":20},{"bytes":30},{"bytes":5},
                        {"bytes":10,"keep":true})",
                             R"({"name":"input","inputs":[],"outputs":[0]},
                        {"name":"v1","inputs":[0],"outputs":[1,2]},
                        {"name":"v2","inputs":[2],"outputs":[4]},
                        {"name":"v3","inputs":[1],"outputs":[3]},
                        {"name":"v4","inputs":[3,4],"outputs":[5]})"))
          .graph,
      {});
  EXPECT_EQ(order_peak(problem, std::vector<OpId>{0, 1, 2, 3, 4}), 45u);
  EXPECT_EQ(order_peak(problem, std::vector<OpId>{0, 1, 3, 2, 4}), 60u);
}

TEST(GraphFile, MayGiveItsMembersInAnySequence) {
  const GraphFile file = parsed_graph(
      R"({"ops":[{"outputs":[0],"inputs":[],"name":"a"}],"tensors":[{"keep":true,"bytes":4}],
          "resident_bytes":0,"version":1,"format":"skyline-graph"})");
  EXPECT_EQ(file.name, "");
  EXPECT_EQ(file.graph.values.size(), 1u) << "no resident bytes, no resident value";
}

TEST(GraphFile, IsWrittenAsItWasRead) {
  const GraphFile file = parsed_graph(kFigure3);
  const std::string text = graph_as_text(file.graph, file.name);
  EXPECT_THAT(text, HasSubstr(R"({"name":"v4","inputs":[3,4],"outputs":[5],"in_place":[[1,0]]})"));
  const GraphFile back = parsed_graph(text);
  EXPECT_EQ(back.name, file.name);
  EXPECT_EQ(graph_as_text(back.graph, back.name), text);
}

TEST(GraphFile, NamesAreEscaped) {
  StepGraph graph{.values = {}, .ops = {{.name = "a \"quoted\" \\ op"}}};
  EXPECT_EQ(parsed_graph(graph_as_text(graph)).graph.ops[0].name, graph.ops[0].name);
  graph.ops[0].name = "no \xFF text";
  EXPECT_EQ(parsed_graph(graph_as_text(graph)).graph.ops[0].name, "no \uFFFD text");
}

TEST(GraphFile, ResidentValuesAreSummedAndViewsMerged) {
  const StepGraph graph{
      .values = {{.bytes = 100, .resident = true, .storage = 0},
                 {.bytes = 8, .storage = 1},
                 {.bytes = 8, .kept = true, .storage = 1},  // a view of 1
                 {.bytes = 50, .resident = true, .storage = 3},
                 {.bytes = 50, .resident = true, .storage = 3},  // a view of 3
                 {.bytes = 8, .storage = 5}},
      .ops = {{.name = "make", .inputs = {0}, .outputs = {1}},
              {.name = "reshape", .inputs = {1}, .outputs = {2}},
              {.name = "use", .inputs = {4, 2}, .outputs = {3, 5}, .in_place = {{1, 1}, {0, 0}}}}};
  const StepGraph back = parsed_graph(graph_as_text(graph)).graph;
  EXPECT_EQ(resident_bytes(back), 150u);
  ASSERT_EQ(back.values.size(), 3u) << "two tensors and the resident sum";
  EXPECT_TRUE(back.values[0].kept) << "because a view of it is";
  EXPECT_THAT(back.ops[0].inputs, IsEmpty());
  EXPECT_THAT(back.ops[1].outputs, IsEmpty());
  EXPECT_THAT(back.ops[2].inputs, ElementsAre(0));
  EXPECT_THAT(back.ops[2].outputs, ElementsAre(1));
  EXPECT_THAT(back.ops[2].after, ElementsAre(1)) << "the view must be made first";
  ASSERT_EQ(back.ops[2].in_place.size(), 1u);
  EXPECT_EQ(back.ops[2].in_place[0].input, 0) << "positions count what is written";
  EXPECT_EQ(back.ops[2].in_place[0].output, 0);
}

TEST(GraphFile, OrdersOfRandomGraphsPeakTheSameInTheFile) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const StepGraph graph = RandomStepGraph(seed).draw(20);
    const OrderProblem before = order_problem(graph, {});
    const OrderProblem after = order_problem(parsed_graph(graph_as_text(graph)).graph, {});
    for (const OrderProblem* one : {&before, &after}) {
      const std::vector<OpId> order = greedy_order(*one, TieRule::kProgramFirst);
      EXPECT_EQ(order_bytes(before, order), order_bytes(after, order));
    }
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      EXPECT_EQ(before.ops[op].predecessors, after.ops[op].predecessors);
    }
  }
}

TEST(GraphFile, ManyOpsAreRead) {
  const std::size_t kOps = runs_all_cases() ? 200'000 : 50'000;
  StepGraph graph;
  for (ValueId id = 0; id < kOps; ++id) {
    graph.values.push_back({.bytes = id % 7, .storage = id});
    graph.ops.push_back({.name = "op", .outputs = {id}});
    if (id > 0) graph.ops.back().inputs = {id - 1};
  }
  EXPECT_EQ(parsed_graph(graph_as_text(graph)).graph.ops.size(), kOps);
}

struct Refused {
  const char* text;
  const char* reason;
};

TEST(GraphFile, FaultsOfTheFileAreNamed) {
  const Refused all[] = {
      {"", "g.json: is not JSON at byte 1"},
      {"[1,2]", "g.json: got a list, expected an object with format, version"},
      {"7", "g.json: got 7, expected an object with format"},
      {"{}", "g.json: has no format"},
      {R"({"format":"onnx"})", "g.json: format: got \"onnx\", expected \"skyline-graph\""},
      {R"({"format":"skyline-graph","version":2})", "g.json: version: got 2, expected 1"},
      {R"({"format":"skyline-graph","version":1.0})", "g.json: version: got 1.0, expected 1"},
      {R"({"comment":{"by":1,"by":2}})", "g.json: has the key 'by' twice"},
      {R"({} {})", "g.json: is not JSON at byte 4"},
      {R"({"format":"skyline-graph","version":1,"resident_bytes":0,"tensors":{},"ops":[]})",
       "g.json: tensors: got an object, expected a list of objects"},
      {R"({"format":"skyline-graph","version":1,"resident_bytes":0,"tensors":[4],"ops":[]})",
       "g.json: tensors: got 4, expected an object"},
      {R"({"format":"skyline-graph","version":1,"resident_bytes":-1,"tensors":[],"ops":[]})",
       "g.json: resident_bytes: got -1, expected a whole number from 0 to 9223372036854775807"},
      {R"({"format":"skyline-graph","version":1,"tensors":[],"ops":[]})",
       "g.json: has no resident_bytes"},
      {R"({"format":"skyline-graph","format":"skyline-graph"})",
       "g.json: has the key 'format' twice"},
      {R"({"format":"skyline-graph","version":1,"resident_bytes":0,"tensors":[],"ops":[]})",
       "g.json: has no ops"},
      {R"({"format":"skyline-graph",)", "g.json: is not JSON at byte 27"},
  };
  for (const auto& [text, reason] : all)
    EXPECT_THAT(graph_refusal(text), HasSubstr(reason)) << text;
}

TEST(GraphFile, FaultsOfAnOpNameIt) {
  const std::pair<const char*, const char*> all[] = {
      {R"({"name":"a","inputs":[],"outputs":[2]})",
       "g.json op 0 (a): writes tensor 2, but the file has 2"},
      {R"({"name":"a","inputs":[9],"outputs":[]})",
       "g.json op 0 (a): reads tensor 9, but the file has 2"},
      {R"({"name":"a","inputs":[1],"outputs":[0]})", "g.json op 0 (a): reads value 1"},
      {R"({"name":"a","inputs":[],"outputs":[0]},{"name":"b","inputs":[],"outputs":[0]})",
       "g.json op 1 (b): writes value 0, which op 0 (a) writes too"},
      {R"({"name":"a","inputs":[1],"outputs":[0]},{"name":"b","inputs":[0],"outputs":[1]})",
       "g.json op 0 (a): waits for itself: it needs op 1 (b), which needs it"},
      {R"({"name":"a","inputs":[],"outputs":[],"after":[0]})", "g.json op 0 (a): waits for itself"},
      {R"({"name":"a","inputs":[],"outputs":[],"after":[1]},{"name":"b","inputs":[],"outputs":[]})",
       "g.json op 0 (a): needs op 1 (b), which comes later"},
      {R"({"name":"a","inputs":[],"outputs":[],"after":[5]})", "g.json op 0 (a): runs after op 5"},
      {R"({"name":"a","inputs":[],"outputs":[],"workspace":1.5})",
       "g.json op 0 (a): workspace: got 1.5, expected a whole number"},
      {R"({"name":"a","inputs":[-1],"outputs":[]})",
       "g.json op 0 (a): inputs: got -1, expected a whole number from 0 to 4294967294"},
      {R"({"name":"a","inputs":[4294967295],"outputs":[]})", "g.json op 0 (a): inputs: got 42949"},
      {R"({"name":"a","inputs":0,"outputs":[]})",
       "g.json op 0 (a): inputs: got 0, expected a list of tensors"},
      {R"({"name":"a","inputs":[[0]],"outputs":[]})", "g.json op 0 (a): inputs: got a list"},
      {R"({"name":"a","inputs":[],"inputs":[],"outputs":[]})",
       "g.json: has the key 'inputs' twice"},
      {R"({"name":"a","inputs":[]})", "g.json op 0 (a): has no outputs"},
      {R"({"inputs":[],"outputs":[]})", "g.json op 0: has no name"},
      {R"({"name":7})", "g.json op 0: name: got 7, expected a text"},
      {R"({"name":"a\nb"})", "g.json op 0: name: got \"a?b\", expected a text without control"},
      {R"({"name":"a","inputs":[],"outputs":[0],"in_place":[[0,0]]})",
       "g.json op 0 (a): has the in-place pair (0, 0) of 0 inputs and 1 outputs"},
      {R"({"name":"a","inputs":[],"outputs":[0],"in_place":[[0]]})",
       "g.json op 0 (a): in_place: got a list of 1, expected [position in inputs, position in"},
      {R"({"name":"a","inputs":[],"outputs":[0],"in_place":[[0,0,0]]})",
       "g.json op 0 (a): in_place: got 0, expected [position"},
      {R"({"name":"a","inputs":[],"outputs":[0],"in_place":[0]})",
       "g.json op 0 (a): in_place: got"},
      {R"({"name":"a","inputs":[],"outputs":[0]},)", "g.json: is not JSON at byte"},
      {R"({"name":"a","inputs":[],"outputs":[0],]})", "g.json: is not JSON at byte"},
  };
  for (const auto& [ops, reason] : all) {
    EXPECT_THAT(graph_refusal(file_with(R"({"bytes":1},{"bytes":1})", ops)), HasSubstr(reason))
        << ops;
  }
}

TEST(GraphFile, FaultsOfATensorNameTheOpThatWritesIt) {
  const std::string ops = R"({"name":"a","inputs":[],"outputs":[0]})";
  const std::pair<const char*, const char*> all[] = {
      {R"({"bytes":-5})",
       "g.json op 0 (a): writes tensor 0: bytes: got -5, expected a whole number from 0 to "
       "9223372036854775807"},
      {R"({"bytes":9223372036854775808})", "bytes: got 9223372036854775808, expected"},
      {R"({"bytes":18446744073709551616})", "bytes: got 18446744073709551616, expected"},
      {R"({"bytes":4.0})", "bytes: got 4.0, expected"},
      {R"({"bytes":-0})", "bytes: got 0, expected"},
      {R"({"bytes":1e3})", "bytes: got 1000.0, expected"},
      {R"({"bytes":1e30})", "bytes: got 1e+30, expected"},
      {R"({"bytes":1e999})", "g.json: holds a number out of range"},
      {R"({"bytes":"4"})", "bytes: got \"4\", expected"},
      {R"({"bytes":null})", "bytes: got null, expected"},
      {R"({"bytes":[4]})", "bytes: got a list, expected"},
      {R"({"bytes":4,"keep":1})", "keep: got 1, expected true or false"},
      {R"({"bytes":4,"bytes":4})", "has the key 'bytes' twice"},
      {R"({"keep":true})", "op 0 (a): writes tensor 0: has no bytes"},
  };
  for (const auto& [tensor, reason] : all) {
    EXPECT_THAT(graph_refusal(file_with(tensor, ops)), HasSubstr(reason)) << tensor;
  }
  EXPECT_THAT(graph_refusal(file_with(R"({"bytes":1},{"bytes":-5})", ops)),
              HasSubstr("g.json: tensor 1: bytes: got -5"))
      << "no op writes it";
  EXPECT_THAT(graph_refusal(file_with(R"({"bytes":9223372036854775807},{"bytes":1})",
                                      ops + R"(,{"name":"b","inputs":[],"outputs":[1]})")),
              HasSubstr("g.json op 1 (b): brings the sum of all bytes above 9223372036854775807"));
}

TEST(GraphFile, AnUnreadableStreamIsAnError) {
  FailingBuffer buffer("{\"format\"");
  std::istream in(&buffer);
  try {
    read_graph(in, "g.json");
    FAIL() << "it cannot be read";
  } catch (const GraphError& error) {
    EXPECT_STREQ(error.what(), "g.json: the text cannot be read");
  }
}

TEST(GraphFile, DeepNestingEndsInASentence) {
  const std::string deep = R"({"comment":)" + std::string(1'000'000, '[');
  EXPECT_THAT(graph_refusal(deep), HasSubstr("g.json: is nested deeper than 100 levels"));
}

}  // namespace
}  // namespace skyline
