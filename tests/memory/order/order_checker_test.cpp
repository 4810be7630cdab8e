#include "memory/order/order_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "memory/order/order_problem.h"
#include "memory/order/search/region_bound.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/step_graphs.h"

namespace skyline {
namespace {

using testing::HasSubstr;

// Two branches whose results of 6 bytes meet: op 5 (join) sees both, and `keep` holds 2.
StepGraph branches() {
  GraphBuilder b;
  const ValueId x = b.value(4), left = b.value(6), right = b.value(6), kept = b.value(2, true);
  const ValueId joined = b.value(6), side = b.value(3);
  b.op("load", {}, {x});
  b.op("left", {x}, {left});
  b.op("right", {x}, {right});
  b.op("keep", {}, {kept});
  b.op("side", {left}, {side});
  b.op("join", {left, right, side}, {joined}, {{0, 0}, {1, 0}});
  b.op("use", {joined, kept}, {});
  return b.graph;
}

std::string refusal(const std::function<void(OrderAnswer&)>& tamper) {
  const StepGraph graph = branches();
  OrderAnswer answer = order(graph);
  EXPECT_TRUE(check_order(graph, answer).valid);
  tamper(answer);
  return check_order(graph, answer).reason;
}

TEST(OrderChecker, AcceptsAnswers) {
  const OrderAnswer answer = order(branches());
  const OrderVerdict verdict = check_order(branches(), answer);
  EXPECT_TRUE(verdict.valid) << verdict.reason;
  EXPECT_EQ(verdict.peak, answer.peak);
}

TEST(OrderChecker, RefusesOrders) {
  EXPECT_EQ(refusal([](auto& a) { a.order.pop_back(); }),
            "the order has 6 ops, but the graph has 7");
  EXPECT_EQ(refusal([](auto& a) { a.order[0] = 9; }), "the order has op 9, but the graph has 7");
  EXPECT_THAT(refusal([](auto& a) { a.order[6] = a.order[0]; }), HasSubstr("runs twice"));
  EXPECT_THAT(refusal([](auto& a) { std::swap(a.order[0], a.order[6]); }),
              HasSubstr("op 1 (left) runs before op 0 (load), which it needs"));
}

TEST(OrderChecker, HeedsControlEdgesAndViews) {
  GraphBuilder b;
  const ValueId x = b.value(8), v = b.view(x);
  b.op("load", {}, {x});
  b.op("reshape", {x}, {v});
  b.op("use", {v}, {});
  b.op("last", {}, {});
  b.graph.ops[3].after = {2};
  EXPECT_TRUE(check_sequence(b.graph, std::vector<OpId>{0, 1, 2, 3}).valid);
  EXPECT_EQ(check_sequence(b.graph, std::vector<OpId>{0, 2, 1, 3}).reason,
            "op 2 (use) runs before op 1 (reshape), which it needs");
  EXPECT_EQ(check_sequence(b.graph, std::vector<OpId>{0, 1, 3, 2}).reason,
            "op 3 (last) runs before op 2 (use), which it needs");
}

TEST(OrderChecker, RefusesClaims) {
  EXPECT_THAT(refusal([](auto& a) { --a.peak; }), HasSubstr("claims the peak"));
  EXPECT_THAT(refusal([](auto& a) { ++a.lower_bound; }), HasSubstr("claims that none is below"));
  EXPECT_THAT(refusal([](auto& a) { a.proved_optimal = false; }), HasSubstr("called not optimal"));
  EXPECT_THAT(refusal([](auto& a) { a.lower_bound = a.certificate.bytes - 1; }),
              HasSubstr("but its certificate proves"));
  EXPECT_THAT(refusal([](auto& a) {
                a.certificate = {};
                --a.lower_bound;
              }),
              HasSubstr("is called optimal"));
}

// --- certificates: the bound of op 5 (join) alone.

BoundCertificate bound_of_join() {
  const StepGraph graph = branches();
  const OrderProblem problem = order_problem(graph, {});
  return RegionBound(problem).bound_of(5);
}

std::string fault(const std::function<void(BoundCertificate&)>& tamper) {
  BoundCertificate certificate = bound_of_join();
  EXPECT_EQ(check_certificate(branches(), certificate).reason, "");
  tamper(certificate);
  return check_certificate(branches(), certificate).reason;
}

TEST(CertificateChecker, RefusesRegions) {
  EXPECT_EQ(fault([](auto& c) { c.region.push_back(99); }),
            "the region holds op 99, which does not exist");
  EXPECT_EQ(fault([](auto& c) { c.region = {1}; }),
            "the region holds op 1 (left) but not op 0 (load), which that needs");
  EXPECT_EQ(fault([](auto& c) {
              c.region = {0, 1, 2, 4};
            }),
            "op 3 (keep) leaves the region, but is no exit");
  EXPECT_EQ(fault([](auto& c) { c.exits.clear(); }),
            "the certificate has no exits and proves nothing");
}

TEST(CertificateChecker, RefusesExits) {
  EXPECT_EQ(fault([](auto& c) { c.exits.push_back(c.exits[0]); }), "op 5 (join) is an exit twice");
  EXPECT_EQ(fault([](auto& c) { c.exits[0].op = 70; }), "exit 70 is no op");
  EXPECT_THAT(fault([](auto& c) { c.exits[0].op = 6; }),
              HasSubstr("op 5 (join) leaves the region"));
  EXPECT_THAT(fault([](auto& c) { ++c.exits[0].bytes; }), HasSubstr("op 5 (join) claims"));
  EXPECT_THAT(fault([](auto& c) { ++c.bytes; }), HasSubstr("the certificate claims"));
  EXPECT_THAT(fault([](auto& c) { c.exits[0].cases.pop_back(); }),
              HasSubstr("op 5 (join): no case covers its in-place pairs"));
}

TEST(CertificateChecker, RefusesFlows) {
  const auto first = [](BoundCertificate& c) -> BoundCase& { return c.exits[0].cases[0]; };
  EXPECT_THAT(fault([&](auto& c) { ++first(c).values[0].bytes; }), HasSubstr("exceeds its"));
  EXPECT_THAT(fault([&](auto& c) { --first(c).values[0].bytes; }), HasSubstr("the flow proves"));
  EXPECT_THAT(fault([&](auto& c) { first(c).values[0].value = 99; }),
              HasSubstr("no bytes of this step"));
  EXPECT_THAT(fault([&](auto& c) { first(c).values[0].value = 4; }),
              HasSubstr("its producer cannot run before"));
  EXPECT_THAT(fault([&](auto& c) { first(c).values[0].reader = 0; }),
              HasSubstr("that op does not read it"));
  EXPECT_THAT(fault([&](auto& c) { first(c).values[0].reader = kNoOp; }),
              HasSubstr("it is not kept to the end"));
  EXPECT_THAT(fault([&](auto& c) {
                first(c).values.push_back({3, kNoOp, 2});
              }),
              HasSubstr("op 5 (join): op 3 (keep) receives 0 bytes but passes on 2"));
  EXPECT_THAT(fault([&](auto& c) {
                first(c).needs.push_back({3, 0, 2});
              }),
              HasSubstr("it does not need that op"));
  EXPECT_THAT(fault([&](auto& c) {
                first(c).needs.push_back({6, 5, 2});
              }),
              HasSubstr("from op 6 to its predecessor op 5: it cannot run before"));
  EXPECT_THAT(fault([&](auto& c) { first(c).pairs = {7}; }), HasSubstr("pair 7 cannot be used"));
}

TEST(CertificateChecker, RefusesSets) {
  const auto set = [](BoundCertificate& c) -> std::vector<OpId>& {
    return c.exits[0].cases[0].closed_set;
  };
  EXPECT_THAT(fault([&](auto& c) { set(c).push_back(5); }), HasSubstr("op 5 cannot run before"));
  EXPECT_THAT(fault([&](auto& c) { set(c).clear(); }), HasSubstr("its set lacks op 0 (load)"));
  EXPECT_THAT(fault([&](auto& c) { set(c).push_back(3); }), HasSubstr("its set needs"));
}

// --- certificates of the end of the step

// `keep` and `use` write what is kept, 2 and 7 bytes.
StepGraph branches_with_result() {
  StepGraph graph = branches();
  graph.values.push_back({.bytes = 7, .kept = true, .storage = 6});
  graph.ops[6].outputs = {6};
  return graph;
}

std::string fault_of_end(const std::function<void(BoundCertificate&)>& tamper) {
  const StepGraph graph = branches_with_result();
  const OrderProblem problem = order_problem(graph, {});
  BoundCertificate certificate = RegionBound(problem).bound_of_end();
  EXPECT_EQ(certificate.bytes, 9u);
  EXPECT_EQ(check_certificate(graph, certificate).reason, "");
  tamper(certificate);
  return check_certificate(graph, certificate).reason;
}

void claim(BoundCertificate& certificate, std::uint64_t bytes) {
  certificate.bytes = certificate.exits[0].bytes = certificate.exits[0].cases[0].bytes = bytes;
}

TEST(CertificateChecker, RefusesFalseSumsOfTheEnd) {
  EXPECT_EQ(fault_of_end([](auto& c) { claim(c, 10); }),
            "the end of the step: the flow proves 9 bytes, not 10");
  EXPECT_EQ(fault_of_end([](auto& c) { claim(c, 8); }),
            "the end of the step: the flow proves 9 bytes, not 8");
  EXPECT_EQ(fault_of_end([](auto& c) { c.exits[0].cases[0].values.pop_back(); }),
            "the end of the step: the flow proves 2 bytes, not 9");
  EXPECT_EQ(fault_of_end([](auto& c) {
              c.exits[0].cases[0].values.pop_back();
              claim(c, 2);
            }),
            "the end of the step: its set needs 9 bytes, not 2");
  EXPECT_THAT(fault_of_end([](auto& c) {
                c.exits[0].cases[0].values.push_back({1, kNoOp, 6});
                claim(c, 15);
              }),
              HasSubstr("value 1 to the end: it is not kept to the end"));
  EXPECT_THAT(fault_of_end([](auto& c) { c.exits[0].cases[0].values[0].bytes = 9; }),
              HasSubstr("exceeds its 2 bytes"));
}

TEST(CertificateChecker, RefusesEndsThatAreNone) {
  EXPECT_EQ(fault_of_end([](auto& c) { c.exits.push_back(c.exits[0]); }),
            "the end of the step is an exit twice");
  EXPECT_EQ(fault_of_end([](auto& c) { c.region.pop_back(); }),
            "the end of the step is no way out of the region");
  EXPECT_EQ(fault_of_end([](auto& c) { c.from_end = true; }),
            "the end of the step is no way out of the region");
  EXPECT_THAT(fault_of_end([](auto& c) { c.exits[0].cases[0].closed_set.pop_back(); }),
              HasSubstr("its set lacks op 6 (use), which must run before"));
  EXPECT_THAT(fault_of_end([](auto& c) { c.exits[0].cases[0].pairs = {0}; }),
              HasSubstr("its in-place pair 0 cannot be used"));
  EXPECT_THAT(fault_of_end([](auto& c) { c.exits[0].cases.clear(); }), HasSubstr("no case covers"));
  EXPECT_EQ(fault([](auto& c) { c.exits[0].op = kNoOp; }),
            "the end of the step is no way out of the region");
}

// --- certificates whose region grows from the end: `use` last, or `keep`

std::string fault_from_end(const std::function<void(BoundCertificate&)>& tamper) {
  GraphBuilder b;
  const ValueId x = b.value(5), y = b.value(6);
  b.op("load", {}, {x, y});
  b.op("left", {x}, {b.value(10, true)});
  b.op("right", {y}, {b.value(10, true)});
  b.op("tiny", {}, {b.value(1, true)});
  const OrderProblem problem = order_problem(b.graph, {});
  RegionBound bound(problem);
  auto proof = bound.prove_above(24, RegionBound::Side::kEnd, {}, 100, {});
  EXPECT_TRUE(proof.has_value());
  EXPECT_EQ(proof->region, std::vector<OpId>{3});
  EXPECT_EQ(check_certificate(b.graph, *proof).reason, "");
  tamper(*proof);
  return check_certificate(b.graph, *proof).reason;
}

TEST(CertificateChecker, RefusesRegionsFromTheEnd) {
  EXPECT_EQ(fault_from_end([](auto& c) { c.region = {0}; }),
            "the region holds op 0 (load) but not op 1 (left), which needs that");
  EXPECT_EQ(fault_from_end([](auto& c) { c.region = {}; }),
            "op 3 (tiny) leaves the region, but is no exit");
  EXPECT_EQ(fault_from_end([](auto& c) {
              c.region = {1, 3};
            }),
            "op 1 (left) is no way out of the region");
  EXPECT_THAT(fault_from_end([](auto& c) { c.from_end = false; }), HasSubstr("op 0 (load)"));
  EXPECT_THAT(fault_from_end([](auto& c) { c.exits.pop_back(); }), HasSubstr("is no exit"));
  EXPECT_THAT(fault_from_end([](auto& c) { c.exits[0].cases[0].closed_set.push_back(1); }),
              HasSubstr("op 1 cannot run before"));
  EXPECT_THAT(fault_from_end([](auto& c) { c.exits[0].cases[0].values.pop_back(); }),
              HasSubstr("the flow proves"));
}

// Whatever byte of a proof is changed, the checker notices.
TEST(CertificateChecker, RefusesEveryChangedFlow) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(12, 1 + seed % 12);
    const BoundCertificate proof = order(graph).certificate;
    for (std::size_t e = 0; e < proof.exits.size(); ++e) {
      for (std::size_t k = 0; k < proof.exits[e].cases.size(); ++k) {
        for (std::size_t v = 0; v < proof.exits[e].cases[k].values.size(); ++v) {
          BoundCertificate tampered = proof;
          --tampered.exits[e].cases[k].values[v].bytes;
          ASSERT_FALSE(check_certificate(graph, tampered).valid) << "seed " << seed;
          ++changed;
        }
        BoundCertificate tampered = proof;
        ++tampered.exits[e].cases[k].bytes;
        ASSERT_FALSE(check_certificate(graph, tampered).valid) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(changed, 300u);
}

}  // namespace
}  // namespace skyline
