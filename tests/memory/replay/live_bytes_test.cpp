#include "memory/replay/live_bytes.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/train/images/small_training.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

constexpr auto kActivation = static_cast<std::size_t>(Category::kActivation);
constexpr auto kWorkspace = static_cast<std::size_t>(Category::kWorkspace);
constexpr auto kParameter = static_cast<std::size_t>(Category::kParameter);

// A block of two convolutions, and an fc layer. The fullest tick is 2, at the workspace.
RecordedRun hand_made_run() {
  RunRecorder recorder;
  const auto weight = [&](const char* name) {
    return recorder.allocate(700, {"resident", name, Phase::kOutside, Category::kParameter});
  };
  const auto ask = [&](std::size_t bytes, const char* layer, Category category) {
    return recorder.allocate(bytes, {"conv2d", layer, Phase::kForward, category});
  };
  const Block first = weight("block.conv1.weight"), second = weight("block.conv2.weight"),
              third = weight("fc.weight");
  recorder.begin_step(0);
  Block a = ask(3000, "block.conv1", Category::kActivation);  // tick 0
  Block b = ask(1000, "block.conv2", Category::kActivation);  // 1
  Block w = ask(2000, "block.conv2", Category::kWorkspace);   // 2, the fullest
  w.reset();                                                  // 3
  a.reset();                                                  // 4
  Block c = ask(4096, "fc", Category::kActivation);           // 5
  c.reset();
  b.reset();
  recorder.end_step();
  return recorder.run();
}

Trace hand_made_trace() {
  Trace trace;
  trace.blocks = {{0, 4, 3000}, {1, 7, 1000}, {2, 3, 2000}, {5, 6, 4096}};
  trace.tags = {{"conv2d", "block.conv1", Phase::kForward, Category::kActivation},
                {"conv2d", "block.conv2", Phase::kForward, Category::kActivation},
                {"conv2d", "block.conv2", Phase::kForward, Category::kWorkspace},
                {"conv2d", "fc", Phase::kForward, Category::kActivation}};
  return trace;
}

TEST(LiveBytesTest, TheFullestTickByHand) {
  EXPECT_EQ(blocks_at_fullest_tick(hand_made_trace(), 512), (std::vector<std::size_t>{0, 1, 2}));
  const CategoryBytes parts = lower_bound_parts(hand_made_trace(), 512);
  EXPECT_EQ(parts[kActivation], 3072u + 1024);
  EXPECT_EQ(parts[kWorkspace], 2048u);
  EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}),
            lower_bound_bytes(hand_made_trace(), 512));
}

TEST(LiveBytesTest, AnEmptyTraceHoldsNothing) {
  EXPECT_TRUE(blocks_at_fullest_tick({}, 512).empty());
  EXPECT_TRUE(layer_bytes({}, {}, Grouping::kLayer, 512).empty());
}

TEST(LiveBytesTest, CategoriesByHand) {
  const RecordedRun run = hand_made_run();
  EXPECT_EQ(category_peaks(run, 512)[kParameter], 3u * 1024);
  EXPECT_EQ(category_peaks(run, 1)[kParameter], 3u * 700);
  EXPECT_EQ(category_peaks(run, 512)[kActivation], 5120u);  // b and c
  EXPECT_EQ(category_peaks(run, 512)[kWorkspace], 2048u);
  EXPECT_EQ(resident_parts(run, 512)[kParameter], 3u * 1024);
  EXPECT_EQ(resident_parts(run, 512)[kActivation], 0u);
}

TEST(LiveBytesTest, LayersByHand) {
  const auto layers = layer_bytes(hand_made_run(), hand_made_trace(), Grouping::kLayer, 512);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].layer, "block.conv1");
  EXPECT_EQ(layers[1].layer, "block.conv2");
  EXPECT_EQ(layers[2].layer, "fc");
  for (const LayerBytes& layer : layers) EXPECT_EQ(layer.resident_bytes, 1024u);
  EXPECT_EQ(layers[0].peak_bytes, 3072u);
  EXPECT_EQ(layers[1].peak_bytes, 1024u + 2048);
  EXPECT_EQ(layers[1].bytes_at_lower_bound, 1024u + 2048);
  EXPECT_EQ(layers[1].categories_at_lower_bound[kWorkspace], 2048u);
  EXPECT_EQ(layers[2].peak_bytes, 4096u);
  EXPECT_EQ(layers[2].bytes_at_lower_bound, 0u);
}

TEST(LiveBytesTest, TopLevelBlocksByHand) {
  const auto blocks = layer_bytes(hand_made_run(), hand_made_trace(), Grouping::kTopLevel, 512);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].layer, "block");
  EXPECT_EQ(blocks[0].resident_bytes, 2048u);
  EXPECT_EQ(blocks[0].peak_bytes, 3072u + 1024 + 2048);
  EXPECT_EQ(blocks[1].layer, "fc");
}

// Layers and top-level blocks split the same bytes: the resident ones, and the lower bound.
TEST(LiveBytesTest, LayersOfANetworkAddUp) {
  const DryRunFacts facts = dry_run({.model = "resnet20", .shape = tests::small_shape("resnet20")});
  for (const Grouping grouping : {Grouping::kLayer, Grouping::kTopLevel}) {
    std::uint64_t resident = 0, held = 0;
    for (const LayerBytes& layer : layer_bytes(facts.run, facts.trace, grouping, 512)) {
      resident += layer.resident_bytes;
      held += layer.bytes_at_lower_bound;
      EXPECT_LE(layer.bytes_at_lower_bound, layer.peak_bytes) << layer.layer;
    }
    EXPECT_EQ(resident, facts.resident_bytes);
    EXPECT_EQ(held, lower_bound_bytes(facts.trace, 512));
  }
}

}  // namespace
}  // namespace skyline
