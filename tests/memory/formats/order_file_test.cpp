#include "memory/formats/order_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <utility>

#include "memory/errors.h"
#include "memory/order/order_checker.h"
#include "memory/random_inputs.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OrderFile parsed_order(const std::string& text) {
  std::istringstream in(text);
  return read_order(in, "o.json");
}

std::string order_refusal(const std::string& text) {
  try {
    parsed_order(text);
  } catch (const GraphError& error) {
    return error.what();
  }
  return "accepted";
}

std::string order_as_text(const GraphFile& graph, const OrderAnswer& answer) {
  std::ostringstream out;
  write_order(out, graph, answer);
  return out.str();
}

// Two values meet in an op, beside 100 resident bytes.
GraphFile meeting(std::uint64_t bytes = 4) {
  return {.name = "meeting",
          .graph = {.values = {{.bytes = bytes, .storage = 0},
                               {.bytes = 2, .storage = 1},
                               {.bytes = 1, .kept = true, .storage = 2},
                               {.bytes = 100, .resident = true, .storage = 3}},
                    .ops = {{.name = "a", .outputs = {0}},
                            {.name = "b", .outputs = {1}},
                            {.name = "c", .inputs = {0, 1}, .outputs = {2}}}}};
}

TEST(OrderFile, IsReadAsItWasWritten) {
  const GraphFile graph = meeting();
  const OrderAnswer answer = order(graph.graph);
  const OrderFile file = parsed_order(order_as_text(graph, answer));
  EXPECT_EQ(file.graph_name, "meeting");
  EXPECT_EQ(file.algorithm, "optimal");
  EXPECT_EQ(file.graph_hash, graph_hash(graph.graph));
  EXPECT_EQ(file.order, answer.order);
  EXPECT_EQ(file.peak, 107u) << "with resident bytes";
  EXPECT_EQ(file.lower_bound, 107u);
  EXPECT_EQ(file.proved_optimal, true);
  ASSERT_TRUE(file.certificate.has_value());
  EXPECT_EQ(file.certificate->bytes, 7u) << "without resident bytes";
}

// Certificates of random graphs have several exits, cases with in-place pairs and kept values, the
// end of the step and regions from the end.
TEST(OrderFile, CertificatesPassTheCheckerAfterReading) {
  std::size_t flows = 0, ends = 0, from_end = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const GraphFile graph{.graph = RandomStepGraph(seed).draw(12, 1 + seed % 12)};
    const OrderAnswer answer = order(graph.graph);
    const OrderFile file = parsed_order(order_as_text(graph, answer));
    const BoundCertificate certificate = file.certificate.value_or(BoundCertificate());
    EXPECT_EQ(certificate.from_end, answer.certificate.from_end);
    from_end += certificate.from_end;
    EXPECT_EQ(certificate.region, answer.certificate.region);
    EXPECT_EQ(certificate.bytes, answer.certificate.bytes);
    ASSERT_EQ(certificate.exits.size(), answer.certificate.exits.size());
    for (std::size_t i = 0; i < certificate.exits.size(); ++i) {
      const BoundExit &before = answer.certificate.exits[i], &after = certificate.exits[i];
      EXPECT_EQ(after.op, before.op);
      ends += after.op == kNoOp;
      ASSERT_EQ(after.cases.size(), before.cases.size());
      for (std::size_t j = 0; j < after.cases.size(); ++j) {
        EXPECT_EQ(after.cases[j].pairs, before.cases[j].pairs);
        EXPECT_EQ(after.cases[j].values, before.cases[j].values);
        EXPECT_EQ(after.cases[j].needs, before.cases[j].needs);
        EXPECT_EQ(after.cases[j].closed_set, before.cases[j].closed_set);
        flows += after.cases[j].values.size();
      }
    }
    EXPECT_EQ(check_certificate(graph.graph, certificate).reason, "");
  }
  EXPECT_GT(flows, 200u);
  EXPECT_GT(ends, 0u);
  EXPECT_GT(from_end, 0u);
}

TEST(OrderFile, OnlyTheOrderMustBeThere) {
  const OrderFile file = parsed_order(R"({"order":[2,0,1]})");
  EXPECT_THAT(file.order, ElementsAre(2, 0, 1));
  EXPECT_FALSE(file.peak || file.lower_bound || file.proved_optimal || file.certificate);
}

TEST(OrderFile, AnotherGraphIsTold) {
  const OrderFile file = parsed_order(order_as_text(meeting(), order(meeting().graph)));
  EXPECT_EQ(other_graph_reason(file, meeting()), "");
  EXPECT_THAT(other_graph_reason(file, meeting(5)),
              HasSubstr("the order is of another graph, meeting: its hash is "));
  GraphFile smaller = meeting();
  smaller.graph.ops.pop_back();
  EXPECT_EQ(other_graph_reason(file, smaller),
            "the order is of another graph, meeting: it has 3 ops, the graph has 2");
  GraphFile renamed = meeting();
  renamed.graph.ops[0].name = "x";
  EXPECT_EQ(other_graph_reason(file, renamed), "") << "names do not matter";
}

TEST(OrderFile, EveryPartOfAGraphChangesItsHash) {
  const std::string hash = graph_hash(meeting().graph);
  EXPECT_EQ(hash.size(), 16u);
  const auto changed = [](auto change) {
    StepGraph graph = meeting().graph;
    change(graph);
    return graph_hash(graph);
  };
  EXPECT_NE(hash, changed([](StepGraph& graph) { graph.values[0].bytes = 5; }));
  EXPECT_NE(hash, changed([](StepGraph& graph) { graph.values[0].kept = true; }));
  EXPECT_NE(hash, changed([](StepGraph& graph) { graph.ops[2].workspace_bytes = 1; }));
  EXPECT_NE(hash, changed([](StepGraph& graph) { graph.ops[2].after = {0}; }));
  EXPECT_NE(hash, changed([](StepGraph& graph) { graph.ops[2].in_place = {{1, 0}}; }));
  EXPECT_NE(hash, changed([](StepGraph& graph) { std::swap(graph.ops[0], graph.ops[1]); }));
}

TEST(OrderFile, DeepNestingEndsInASentence) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::string reason = "o.json: is nested deeper than 100 levels";
  EXPECT_THAT(order_refusal(deep), HasSubstr(reason));
  EXPECT_THAT(order_refusal(R"({"order":[],"unknown":)" + deep + "}"), HasSubstr(reason));
}

TEST(OrderFile, FaultsAreNamed) {
  const std::pair<const char*, const char*> all[] = {
      {"", "o.json: is not JSON"},
      {"[0]", "o.json: got [0], expected an object with order"},
      {"{}", "o.json: has no order"},
      {R"({"order":7})", "o.json: order: got 7, expected a list"},
      {R"({"order":[-1]})", "o.json: order: got -1, expected a whole number from 0 to 4294967294"},
      {R"({"order":[0.5]})", "o.json: order: got 0.5, expected"},
      {R"({"format":"x","order":[]})", "o.json: format: got \"x\", expected \"skyline-order\""},
      {R"({"version":3,"order":[]})", "o.json: version: got 3, expected 1"},
      {R"({"graph":3,"order":[]})", "o.json: graph: got 3, expected a text"},
      {R"({"peak":-3,"order":[]})", "o.json: peak: got -3, expected a whole number"},
      {R"({"proved_optimal":1,"order":[]})", "o.json: proved_optimal: got 1, expected true or"},
      {R"({"certificate":[],"order":[]})", "o.json: certificate: got [], expected an object"},
      {R"({"certificate":{},"order":[]})", "o.json: has no region"},
      {R"({"certificate":{"region":[],"bytes":1},"order":[]})", "o.json: has no exits"},
      {R"({"certificate":{"region":[],"bytes":1,"from_end":1,"exits":[]},"order":[]})",
       "o.json: from_end: got 1, expected true or false"},
      {R"({"certificate":{"region":[],"bytes":1,"exits":[{"bytes":1,"cases":[]}]},"order":[]})",
       "o.json: exits: has no op"},
      {R"({"certificate":{"region":[],"bytes":1,"exits":[{"op":4294967295}]},"order":[]})",
       "o.json: op: got 4294967295, expected a whole number from 0 to 4294967294"},
      {R"({"certificate":{"region":[],"bytes":1,"exits":[4]},"order":[]})",
       "o.json: exits: got 4, expected an object"},
      {R"({"certificate":{"region":[],"bytes":1,"exits":[{"op":0,"bytes":1,"cases":[
           {"bytes":1,"pairs":[],"closed_set":[],"needs":[],"values":[[0,1]]}]}]},"order":[]})",
       "o.json: values: got [0,1], expected a list of three"},
      {R"({"certificate":{"region":[],"bytes":1,"exits":[{"op":0,"bytes":1,"cases":[
           {"bytes":1,"pairs":[],"closed_set":[],"needs":[],"values":[[null,1,1]]}]}]},"order":[]})",
       "o.json: values: got null, expected a whole number"},
  };
  for (const auto& [text, reason] : all)
    EXPECT_THAT(order_refusal(text), HasSubstr(reason)) << text;
}

}  // namespace
}  // namespace skyline
