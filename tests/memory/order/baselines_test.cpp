// Orders of others: each is compared with what its source's documentation says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "memory/formats/graph_file.h"
#include "memory/order/baselines.h"
#include "memory/order/compiler_orders.h"
#include "memory/order/control_edges.h"
#include "memory/order/greedy_order.h"
#include "memory/order/order.h"
#include "memory/order/order_checker.h"
#include "memory/order/order_problem.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/exhaustive_order.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using testing::ElementsAre;

constexpr const char* kBaselines[] = {"program", "early", "late", "inductor", "xla", "tensorflow"};

// An op of a small graph: it reads the outputs of others and writes one value.
struct SmallOp {
  std::vector<OpId> reads;
  std::uint64_t bytes = 0;
};

StepGraph graph_of(const std::vector<SmallOp>& ops) {
  StepGraph graph;
  for (const SmallOp& op : ops) {
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({.bytes = op.bytes, .storage = id});
    graph.ops.push_back({.name = "op", .inputs = op.reads, .outputs = {id}});
  }
  return graph;
}

// Peaks with resident bytes of graphs/*.json: table.json's.
struct Peaks {
  std::uint64_t program, early, optimum;
};

const std::map<std::string, Peaks> kPeaks = {
    {"alexnet-1", {491638848, 399025824, 395451552}},
    {"alexnet-32", {603195968, 511478944, 397102240}},
    {"alexnet-128", {970120256, 859720864, 746605728}},
    {"vgg11-1", {1106228544, 991182240, 942611872}},
    {"vgg11-32", {2631267648, 2500482464, 2122601888}},
    {"vgg16-64", {5790454848, 5647543456, 5277133984}},
    {"resnet18-1", {111464000, 78507680, 69752384}},
    {"resnet18-32", {782458432, 769130144, 762908320}},
    {"resnet50-1", {268361280, 197357216, 190271040}},
    {"resnet50-32", {2885168704, 2876972704, 2876972704}},
    {"squeezenet1_0-1", {43337152, 42553440, 41853440}},
    {"squeezenet1_0-32", {1184505504, 1184505504, 1184505504}},
    {"googlenet-1", {86941760, 78825664, 75027264}},
    {"googlenet-32", {1584708928, 1580608928, 1575792032}},
    {"mobilenet_v2-1", {100082112, 97485632, 92866112}},
    {"mobilenet_v2-32", {2537713728, 2532589728, 2532589728}},
    {"bert-1", {990064640, 746347520, 743201792}},
    {"opt-125m-1", {7334890368, 7313625984, 7307337600}},
};

TEST(Baselines, NetworksPeakAsInTheTable) {
  for (const auto& [network, peaks] : kPeaks) {
    SCOPED_TRACE(network);
    std::ifstream in(std::filesystem::path(SKYLINE_GRAPHS) / (network + ".json"));
    const GraphFile file = read_graph(in, network);
    const std::uint64_t resident = resident_bytes(file.graph);
    EXPECT_EQ(resident + order(file.graph, "program").peak, peaks.program);
    EXPECT_EQ(resident + order(file.graph, "early").peak, peaks.early);
    EXPECT_EQ(resident + order(file.graph, "optimal").peak, peaks.optimum);
    EXPECT_LE(resident + order(file.graph, "inductor").peak, peaks.program);
    for (const char* name : kBaselines) {
      const OrderAnswer answer = order(file.graph, name);  // checked
      EXPECT_EQ(answer.algorithm, name);
      EXPECT_GE(resident + answer.peak, peaks.optimum) << name;
      EXPECT_LE(resident + answer.lower_bound, peaks.optimum) << name;
    }
  }
}

TEST(Baselines, RandomGraphsAreOrderedSoundly) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    const StepGraph graph = RandomStepGraph(seed).draw(10);
    const std::uint64_t least = ExhaustiveOrder(graph).least_peak();
    const std::uint64_t program = order(graph, "program").peak;
    for (const char* name : kBaselines) {
      const OrderAnswer answer = order(graph, name);  // throws if the checker refuses it
      EXPECT_GE(answer.peak, least) << name;
      EXPECT_LE(answer.lower_bound, least) << name;
    }
    EXPECT_LE(order(graph, "inductor").peak, program);
  }
}

TEST(Baselines, LongChainsNeedNoRecursion) {
  const OpId kOps = runs_all_cases() ? 100'000 : 25'000;
  std::vector<SmallOp> ops(kOps);
  for (OpId op = 0; op < kOps; ++op)
    ops[op] = {op > 0 ? std::vector{op - 1} : std::vector<OpId>(), 8};
  const StepGraph graph = graph_of(ops);
  for (const char* name : kBaselines) EXPECT_EQ(order(graph, name).peak, 16u) << name;
}

TEST(Baselines, AWideGraphIsOrderedInTime) {
  const OpId kOps = runs_all_cases() ? 100'000 : 25'000;
  std::vector<SmallOp> ops = {{{}, 1}};
  for (OpId op = 1; op < kOps; ++op) ops.push_back({{0}, op % 97});
  const StepGraph graph = graph_of(ops);
  for (const char* name : kBaselines) EXPECT_EQ(order(graph, name).peak, 97u) << name;
}

TEST(Baselines, GraphsWithoutBytesHaveNoPeak) {
  const StepGraph graph{.values = {}, .ops = {{.name = "a"}, {.name = "b", .after = {0}}}};
  for (const char* name : kBaselines) {
    const OrderAnswer answer = order(graph, name);
    EXPECT_EQ(answer.peak, 0u) << name;
    EXPECT_THAT(answer.order, ElementsAre(0, 1)) << name;
  }
}

TEST(EarlyUpdates, RunAsSoonAsTheyMay) {
  // 0 and 1 write gradients; 3 and 4 update with them, 4 after 2, and 5 after both updates.
  StepGraph graph = graph_of({{{}, 1}, {{}, 1}, {{}, 1}});
  graph.ops.push_back({.name = "update", .inputs = {0}});
  graph.ops.push_back({.name = "update", .inputs = {1}, .after = {2}});
  graph.ops.push_back({.name = "last", .after = {3, 4}});
  EXPECT_THAT(early_sequence(order_problem(graph, {})), ElementsAre(0, 3, 1, 2, 4, 5));
}

TEST(EarlyUpdates, WriteOnlyWhatIsResident) {
  StepGraph graph = graph_of({{{}, 1}, {{}, 1}, {{0}, 1}});
  graph.values.push_back({.bytes = 50, .resident = true, .storage = 3});
  graph.ops[2].outputs = {3};
  EXPECT_THAT(early_sequence(order_problem(graph, {})), ElementsAre(0, 2, 1));
}

// Each update runs before whatever the order `early` runs after it, in any order of the forced
// graph.
TEST(ForcedUpdates, HoldForAnyAlgorithm) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const StepGraph graph = RandomStepGraph(seed).draw(14);
    const OrderProblem problem = order_problem(graph, {});
    const ForcedGraph forced = force_early_updates(graph, {});
    EXPECT_EQ(forced.sequence, early_sequence(problem));
    for (const char* name : {"optimal", "xla", "tensorflow"}) {
      const std::vector<OpId> found = order(forced.graph, name).order;
      std::vector<std::size_t> place(found.size());
      for (std::size_t at = 0; at < found.size(); ++at) place[found[at]] = at;
      std::vector<OpId> original;
      for (const OpId op : found) original.push_back(forced.sequence[op]);
      ASSERT_TRUE(check_sequence(graph, original).valid) << name;
      for (OpId update = 0; update < found.size(); ++update) {
        if (!problem.ops[forced.sequence[update]].outputs.empty()) continue;
        for (OpId other = update + 1; other < found.size(); ++other) {
          if (problem.ops[forced.sequence[other]].outputs.empty()) continue;
          EXPECT_LT(place[update], place[other]) << name;
        }
      }
    }
  }
}

TEST(ForcedUpdates, CostAlexNetWhatOllaLosesByThem) {
  std::ifstream in(std::filesystem::path(SKYLINE_GRAPHS) / "alexnet-32.json");
  const StepGraph graph = read_graph(in, "alexnet-32").graph;
  const ForcedGraph forced = force_early_updates(graph, {});
  const OrderAnswer best = order(forced.graph);
  EXPECT_EQ(forced.updates, 11u);
  EXPECT_TRUE(best.proved_optimal);
  EXPECT_EQ(resident_bytes(graph) + best.peak, kPeaks.at("alexnet-32").early);
}

// Ops 0 and 2 are ready at first; 0 makes 1 ready, 2 makes 4, and 1 makes 3.
TEST(TensorFlow, ServesReadyOpsFirstComeFirstServed) {
  const StepGraph graph = graph_of({{{}, 1}, {{0}, 1}, {{}, 1}, {{1}, 1}, {{2}, 1}});
  EXPECT_THAT(order(graph, "tensorflow").order, ElementsAre(0, 2, 1, 4, 3));
}

// Two kept products of a tied weight and their sum around layers whose gradients are kept. Each
// other rule runs the sum when the gradients of all layers are there.
TEST(Late, AloneSumsATiedWeightBeforeOtherGradients) {
  const StepGraph graph = kept_gradients(6, 1, 2);
  const OrderAnswer late = order(graph, "late");
  EXPECT_TRUE(late.proved_optimal);
  for (const char* other : {"program", "early", "greedy", "inductor", "xla"}) {
    EXPECT_GT(order(graph, other).peak, late.peak) << other;
  }
  EXPECT_EQ(order(graph).peak, late.peak);
}

// Weights used once, several that are shared, sums over many steps.
TEST(Late, SolvesTheSiblings) {
  for (const auto& [layers, shared, uses] : {std::array<std::size_t, 3>{4, 1, 1},
                                             {4, 3, 1},
                                             {5, 1, 2},
                                             {2, 2, 2},
                                             {1, 1, 3},
                                             {2, 1, 3}}) {
    const StepGraph graph = kept_gradients(layers, shared, uses);
    ASSERT_LE(graph.ops.size(), 18u);
    const std::uint64_t least = ExhaustiveOrder(graph).least_peak();
    EXPECT_EQ(order(graph, "late").peak, least) << layers << ", " << shared << ", " << uses;
    EXPECT_EQ(order(graph).peak, least);
  }
  EXPECT_TRUE(order(kept_gradients(12, 2, 2)).proved_optimal);
  EXPECT_TRUE(order(kept_gradients(3, 2, 12)).proved_optimal) << "an unrolled network of 12 steps";
}

// The gradient of a weight smaller than what it is made of is not delayed.
TEST(Late, DelaysOnlyWhatRaisesTheBytes) {
  GraphBuilder b;
  const ValueId large = b.value(50), small = b.value(2, true), grows = b.value(30, true),
                x = b.value(1);
  const ValueId read = b.value(3, true), last = b.value(1);
  b.op("load", {}, {large, x});
  b.op("grows", {x}, {grows});
  b.op("shrinks", {large}, {small});
  b.op("read", {x}, {read});  // kept, and read
  b.op("free", {read, x}, {last});
  b.op("update", {last}, {});
  b.graph.ops[4].after = {1};
  EXPECT_THAT(delayed(order_problem(b.graph, {}), std::vector<OpId>{0, 1, 2, 3, 4, 5}),
              ElementsAre(0, 2, 3, 1, 4, 5));
}

// All gradients wait for the end, where one that needs 30 bytes has no room beside the others,
// which are 210 with it. The one that needs 10 has.
TEST(Late, DelaysUnderALevelWhatFits) {
  GraphBuilder b;
  std::vector<ValueId> inputs, gradients;
  for (const std::uint64_t bytes : {10, 30, 60}) inputs.push_back(b.value(bytes));
  for (const std::uint64_t bytes : {50, 70, 90}) gradients.push_back(b.value(bytes, true));
  b.op("load", {}, inputs);
  for (const std::size_t k : {0, 1, 2}) b.op("gradient", {inputs[k]}, {gradients[k]});
  const OrderProblem problem = order_problem(b.graph, {});
  const std::vector<OpId> program = program_sequence(problem);
  EXPECT_EQ(order_peak(problem, program), 270u);
  EXPECT_EQ(order_peak(problem, delayed(problem, program)), 240u);
  EXPECT_EQ(order_peak(problem, delayed(problem, program, 220)), 220u);
}

// Kept and unread values, in-place pairs, control edges, ops without outputs, all values kept.
TEST(Late, DelayingAndAdvancingRaiseNoPeak) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(14, 1 + seed % 4);
    const OrderProblem problem = order_problem(graph, {});
    std::vector<OpId> order = program_sequence(problem);
    for (const auto refined : {delayed, advanced, delayed, advanced}) {
      const std::vector<OpId> next = refined(problem, order);
      ASSERT_TRUE(check_sequence(graph, next).valid) << seed;
      ASSERT_LE(order_peak(problem, next), order_peak(problem, order)) << seed;
      order = next;
    }
    EXPECT_TRUE(check_sequence(graph, greedy_order_from_end(problem)).valid) << seed;
  }
}

std::vector<OpId> least_peak_first_of(const std::vector<SmallOp>& ops) {
  return least_peak_first(order_problem(graph_of(ops), {}));
}

TEST(LeastPeakFirst, TakesTheFewestNewBytesAbovePeak) {
  EXPECT_THAT(least_peak_first_of({{{}, 30}, {{}, 20}, {{0}, 1}, {{1}, 1}}),
              ElementsAre(1, 3, 0, 2));
}

TEST(LeastPeakFirst, TakesTheLeastGrowthBelowPeak) {
  // After op 0 the peak is 50. Of 1 (writes 5, frees nothing) and 2 (writes 20, frees 50), 2.
  EXPECT_THAT(least_peak_first_of({{{}, 50}, {{}, 60}, {{0}, 20}, {{1, 2}, 0}}),
              ElementsAre(0, 2, 1, 3));
  // Two readers of one value: the second frees it.
  EXPECT_THAT(least_peak_first_of({{{}, 50}, {{0}, 4}, {{0}, 2}, {{1, 2}, 1}}),
              ElementsAre(0, 2, 1, 3));
}

TEST(LeastPeakFirst, TiesKeepTheProgramsSequence) {
  EXPECT_THAT(least_peak_first_of({{{}, 3}, {{}, 3}, {{}, 3}}), ElementsAre(0, 1, 2));
}

// The same choice by looking at every ready op.
std::vector<OpId> least_peak_first_slowly(const OrderProblem& problem) {
  ReadyOps state(problem);
  std::vector<OpId> ready = state.ready_at_first(), order;
  std::uint64_t live = 0, peak = 0;
  while (!ready.empty()) {
    const auto key = [&](OpId op) {
      const std::uint64_t bytes = state.output_bytes(op) + problem.ops[op].workspace_bytes;
      const auto growth = static_cast<std::int64_t>(state.output_bytes(op)) -
                          static_cast<std::int64_t>(state.freed_bytes(op));
      return std::tuple(bytes > peak - live ? bytes : 0, growth, op);
    };
    const OpId op = *std::ranges::min_element(ready, {}, key);
    peak = std::max(peak, live + state.output_bytes(op) + problem.ops[op].workspace_bytes);
    live += state.output_bytes(op) - state.freed_bytes(op);
    std::erase(ready, op);
    order.push_back(op);
    const std::vector<OpId> became = state.run(op).ready;
    ready.insert(ready.end(), became.begin(), became.end());
  }
  return order;
}

TEST(LeastPeakFirst, EqualsTheRuleOpByOp) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const OrderProblem problem = order_problem(RandomStepGraph(seed).draw(40), {});
    EXPECT_EQ(least_peak_first(problem), least_peak_first_slowly(problem)) << seed;
  }
}

TEST(ReadyOps, CountsWhatAnOpWouldFree) {
  StepGraph graph = graph_of({{{}, 10}, {{0}, 3}, {{0}, 4}, {{1, 2}, 5}});
  graph.values[1].kept = true;
  const OrderProblem problem = order_problem(graph, {});
  ReadyOps ready(problem);
  EXPECT_THAT(ready.ready_at_first(), ElementsAre(0));
  EXPECT_EQ(ready.freed_bytes(1), 0u) << "op 2 reads it, too";
  EXPECT_EQ(ready.freed_bytes(3), 9u) << "op 2's output and its own, which nothing reads";
  EXPECT_THAT(ready.run(0).ready, ElementsAre(1, 2));
  const ReadyOps::Changes& changes = ready.run(1);
  EXPECT_THAT(changes.frees_more, ElementsAre(2));
  EXPECT_EQ(ready.freed_bytes(2), 10u);
}

TEST(DepthFirst, VisitsNeedsBeforeTheirOp) {
  const OrderProblem problem =
      order_problem(graph_of({{{}, 1}, {{}, 1}, {{0}, 1}, {{1}, 1}, {{3, 2}, 1}}), {});
  EXPECT_THAT(depth_first(problem, std::vector<OpId>{4}), ElementsAre(0, 2, 1, 3, 4));
  const auto last_first = [](std::vector<OpId>& needs) { std::ranges::reverse(needs); };
  EXPECT_THAT(depth_first(problem, std::vector<OpId>{4}, last_first), ElementsAre(1, 3, 0, 2, 4));
  EXPECT_THAT(depth_first(problem, std::vector<OpId>{1, 4}), ElementsAre(1, 0, 2, 3, 4));
}

// Two branches, each a large value that becomes a small one: program order holds both large ones.
TEST(Baselines, BranchesAreFinishedOneAfterTheOther) {
  const StepGraph graph =
      graph_of({{{}, 1}, {{0}, 40}, {{0}, 40}, {{1}, 2}, {{2}, 2}, {{3, 4}, 1}});
  EXPECT_EQ(order(graph, "program").peak, 82u);
  EXPECT_EQ(order(graph, "inductor").peak, 44u);
  EXPECT_EQ(order(graph, "xla").peak, 44u);
  EXPECT_EQ(order(graph, "optimal").peak, 44u);
}

}  // namespace
}  // namespace skyline
