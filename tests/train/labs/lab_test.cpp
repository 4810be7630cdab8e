#include "train/labs/lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "memory/allocators/best_fit_pool.h"
#include "memory/order/order.h"
#include "memory/planners/registry.h"
#include "train/labs/exercises/exercises.h"

namespace skyline {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// The fault that the first task of a score names; it must have cost all points.
std::string fault_of(const LabScore& score) {
  EXPECT_EQ(score.points(), 0);
  return score.marks.front().finding;
}

TEST(Labs, ExercisesBeginWithWhatIsValidAndWasteful) {
  for (const std::string name : {"planner", "allocator", "order"}) {
    const LabScore score = score_lab(name, 1);
    EXPECT_EQ(score.marks.front().points, 40) << name;
    EXPECT_EQ(score.points(), 40) << score.text();
    EXPECT_EQ(score.most(), 100) << name;
  }
}

TEST(Labs, AnUnknownOneIsNamed) {
  EXPECT_THAT(
      [] { score_lab("plan", 1); },
      testing::ThrowsMessage<std::invalid_argument>(
          "unknown lab 'plan', expected one of: planner, allocator, in-place, order, bytes"));
}

TEST(PlannerLab, TheBestPlannerHasAllPoints) {
  const PlanWriter best = [](const Trace& trace) {
    return plan(trace, kDefaultPlanner, {.alignment = 1}).offsets;
  };
  for (std::uint64_t seed = 0; seed < 3; ++seed) EXPECT_EQ(score_planner(best, seed).points(), 100);
}

TEST(PlannerLab, FaultsAreNamed) {
  const auto with = [](PlanWriter writer) { return fault_of(score_planner(writer, 7)); };
  EXPECT_THAT(with([](const Trace& trace) { return std::vector<std::uint64_t>(trace.size()); }),
              HasSubstr("trace 0: block"));
  EXPECT_THAT(with([](const Trace&) { return std::vector<std::uint64_t>(); }),
              HasSubstr("trace 0: 0 offsets for"));
  EXPECT_EQ(
      with([](const Trace&) -> std::vector<std::uint64_t> { throw std::runtime_error("no idea"); }),
      "trace 0: the planner threw: no idea");
}

GptBytes right_bytes(const GptNumbers& n) {
  const std::int64_t rows = 4 * n.batch * n.length, stream = rows * n.units, l = n.layers;
  return {.parameters = bytes_exercise(n).parameters,
          .moments = 2 * bytes_exercise(n).parameters,
          .embedding = stream,
          .additions = 2 * l * stream,
          .layer_norm = 2 * l * stream + (2 * l + 1) * 2 * rows,
          .linear = 7 * l * stream,
          .attention = l * stream + l * n.heads * rows,
          .gelu = 4 * l * stream};
}

TEST(BytesLab, TheRightTableHasAllPoints) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const LabScore score = score_bytes(right_bytes, seed);
    EXPECT_EQ(score.points(), 100) << score.text();
    EXPECT_EQ(score.most(), 100);
  }
  EXPECT_EQ(score_lab("bytes", 1).points(), 10);
}

TEST(BytesLab, FaultsAreNamed) {
  const LabScore score = score_bytes(
      [](const GptNumbers& n) {
        GptBytes bytes = right_bytes(n);
        bytes.gelu += 1;
        return bytes;
      },
      2);
  EXPECT_EQ(score.points(), 70);
  EXPECT_THAT(score.text(), HasSubstr(" instead of "));
  EXPECT_EQ(fault_of(score_bytes(
                [](const GptNumbers&) -> GptBytes { throw std::runtime_error("no idea"); }, 7)),
            "the function threw: no idea");
}

TEST(OrderLab, OptimaHaveAllPoints) {
  const OrderWriter best = [](const StepGraph& graph) { return order(graph).order; };
  for (std::uint64_t seed = 0; seed < 3; ++seed) EXPECT_EQ(score_order(best, seed).points(), 100);
}

TEST(OrderLab, FaultsAreNamed) {
  const OrderWriter backwards = [](const StepGraph& graph) {
    std::vector<OpId> order(graph.ops.size());
    std::iota(order.rbegin(), order.rend(), OpId{0});
    return order;
  };
  EXPECT_THAT(fault_of(score_order(backwards, 7)), HasSubstr("graph "));
  EXPECT_THAT(fault_of(score_order([](const StepGraph&) { return std::vector<OpId>(); }, 7)),
              HasSubstr("graph 0: "));
}

// The rule of memory/step_graph.cpp, written for storages.
bool right_rule(const StepGraph& graph, const StepOp& op, const InPlacePair& pair,
                std::span<const std::int64_t> reads_left) {
  const ValueId storage = graph.values[op.inputs[static_cast<std::size_t>(pair.input)]].storage;
  std::int64_t reads = 0;
  bool stays = false;
  for (ValueId value = 0; value < graph.values.size(); ++value) {
    if (graph.values[value].storage != storage) continue;
    reads += reads_left[value];
    stays = stays || graph.values[value].kept || graph.values[value].resident;
  }
  const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
  return !stays && reads == 1 && graph.values[storage].bytes == graph.values[output].bytes;
}

TEST(InPlaceLab, TheBugIsFoundForEverySeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(fault_of(score_lab("in-place", seed)),
                AnyOf(HasSubstr("was written over it"), HasSubstr("was written over")));
  }
}

TEST(InPlaceLab, TheRightRuleHasAllPoints) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(score_in_place(right_rule, seed).points(), 100);
  }
}

TEST(InPlaceLab, ARuleThatAlwaysRefusesIsSafeAndWasteful) {
  const LabScore score = score_in_place([](auto&&...) { return false; }, 7);
  EXPECT_EQ(score.points(), 60);
  EXPECT_THAT(score.marks[1].finding, HasSubstr("peaks above the least"));
}

// Each condition of the rule is needed.
TEST(InPlaceLab, ARuleWithoutOneConditionIsCaught) {
  const OverwriteRule always = [](auto&&...) { return true; };
  const OverwriteRule any_size = [](const StepGraph& graph, const StepOp& op,
                                    const InPlacePair& pair, auto reads_left) {
    StepGraph same = graph;
    for (StepValue& value : same.values) value.bytes = 1;
    return right_rule(same, op, pair, reads_left);
  };
  const OverwriteRule nothing_stays = [](const StepGraph& graph, const StepOp& op,
                                         const InPlacePair& pair, auto reads_left) {
    StepGraph loose = graph;
    for (StepValue& value : loose.values) value.kept = value.resident = false;
    return right_rule(loose, op, pair, reads_left);
  };
  const OverwriteRule readers_do_not_count = [](const StepGraph& graph, const StepOp& op,
                                                const InPlacePair& pair, auto) {
    std::vector<std::int64_t> one(graph.values.size());
    one[op.inputs[static_cast<std::size_t>(pair.input)]] = 1;
    return right_rule(graph, op, pair, one);
  };
  for (const OverwriteRule& rule : {always, any_size, nothing_stays, readers_do_not_count}) {
    EXPECT_NE(fault_of(score_in_place(rule, 7)), "");
  }
}

TEST(AllocatorLab, TheBestFitPoolHasAllPoints) {
  const AllocatorMaker pool = [](Device& device) { return std::make_unique<BestFitPool>(device); };
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    EXPECT_EQ(score_allocator(pool, seed).points(), 100);
}

// Without a pool, few bytes earn nothing.
TEST(AllocatorLab, BytesCountOnlyForAPool) {
  const LabScore score = score_allocator(make_exercise_allocator, 7);
  EXPECT_EQ(score.marks[1].finding, "100.0 %");
  EXPECT_THAT(score.marks[3].finding, testing::StartsWith("0."));
  EXPECT_EQ(score.points(), 40);
}

// Allocators with one fault each.
class FaultyAllocator : public Allocator {
 public:
  explicit FaultyAllocator(Device& device) : device_(device) {}
  void release(const Extent&) noexcept override {}
  Statistics statistics() const override { return {}; }

 protected:
  Device& device_;
};

class SharingAllocator final : public FaultyAllocator {
 public:
  using FaultyAllocator::FaultyAllocator;
  ~SharingAllocator() override { device_.deallocate(piece_, kPieceBytes); }
  Extent acquire(std::size_t bytes, const Tag&) override { return {piece_, bytes}; }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 22;
  std::byte* piece_ = device_.allocate(kPieceBytes);
};

class ShortAllocator final : public FaultyAllocator {
 public:
  using FaultyAllocator::FaultyAllocator;
  Extent acquire(std::size_t bytes, const Tag&) override {
    return {device_.allocate((bytes + 1) / 2), bytes};
  }
  void release(const Extent& extent) noexcept override {
    device_.deallocate(extent.address, (extent.bytes + 1) / 2);
  }
};

class LeakingAllocator final : public FaultyAllocator {
 public:
  using FaultyAllocator::FaultyAllocator;
  Extent acquire(std::size_t bytes, const Tag&) override {
    return {device_.allocate(align_request(bytes)), bytes};
  }
};

class CrookedAllocator final : public FaultyAllocator {
 public:
  using FaultyAllocator::FaultyAllocator;
  Extent acquire(std::size_t bytes, const Tag&) override {
    return {device_.allocate(bytes + 8) + 8, bytes};
  }
  void release(const Extent& extent) noexcept override {
    device_.deallocate(extent.address - 8, extent.bytes + 8);
  }
};

template <typename T>
std::string fault_with() {
  return fault_of(score_allocator([](Device& device) { return std::make_unique<T>(device); }, 7));
}

TEST(AllocatorLab, FaultsAreNamed) {
  EXPECT_THAT(fault_with<SharingAllocator>(), HasSubstr("run 0: "));
  EXPECT_EQ(fault_with<ShortAllocator>(),
            "run 0: a block reaches beyond its piece of the device's memory");
  EXPECT_THAT(fault_with<LeakingAllocator>(), HasSubstr("pieces with the device"));
  EXPECT_EQ(fault_with<CrookedAllocator>(), "run 0: a block is not aligned to 512 bytes");
}

}  // namespace
}  // namespace skyline
