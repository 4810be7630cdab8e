#include "train/lab/model_summary.h"

#include <gtest/gtest.h>

namespace skyline {
namespace {

struct Totals {
  std::int64_t parameters = 0, multiply_adds = 0;
};

Totals totals(const std::vector<LayerSummary>& rows) {
  Totals sum;
  for (const LayerSummary& row : rows) {
    sum.parameters += row.parameters;
    sum.multiply_adds += row.multiply_adds;
  }
  return sum;
}

std::vector<LayerSummary> summarized(const std::string& model) {
  return summarize(find_model(model), find_model(model).shape);
}

std::vector<LayerSummary> summarized(const Seq2SeqShape& shape, std::int64_t words) {
  return summarize({.model = "seq2seq", .translation = shape, .sentence_words = words});
}

// By hand: 784*256 + 256*128 + 128*10.
TEST(ModelSummaryTest, Mlp) {
  const Totals sum = totals(summarized("mlp"));
  EXPECT_EQ(sum.parameters, 235'146);
  EXPECT_EQ(sum.multiply_adds, 234'752);
}

// By hand: 28*28*6*25 + 10*10*16*150 + 400*120 + 120*84 + 84*10.
TEST(ModelSummaryTest, Lenet) {
  const std::vector<LayerSummary> rows = summarized("lenet");
  EXPECT_EQ(totals(rows).parameters, 61'706);
  EXPECT_EQ(totals(rows).multiply_adds, 416'520);
  EXPECT_EQ(rows.front().layer, "conv1");
  EXPECT_EQ(rows.front().op, "conv2d");
  EXPECT_EQ(rows.front().output, Shape({1, 6, 28, 28}));
  EXPECT_EQ(rows.front().parameters, 156);
  EXPECT_EQ(rows.front().multiply_adds, 117'600);
  EXPECT_EQ(rows.back().layer, "fc3");
}

// By hand: 32*32*16*27 + 6*32*32*16*144 + 16*16*32*(144+5*288) + 8*8*64*(288+5*576) + 640.
TEST(ModelSummaryTest, Resnet20) {
  const Totals sum = totals(summarized("resnet20"));
  EXPECT_EQ(sum.parameters, 269'722);
  EXPECT_EQ(sum.multiply_adds, 40'551'040);
}

TEST(ModelSummaryTest, MultiplyAddsGrowWithTheBatch) {
  const ModelEntry& entry = find_model("lenet");
  const Totals one = totals(summarize(entry, entry.shape, 1));
  const Totals five = totals(summarize(entry, entry.shape, 5));
  EXPECT_EQ(five.multiply_adds, 5 * one.multiply_adds);
  EXPECT_EQ(five.parameters, one.parameters);
}

// The paper's network of 173,306,946 parameters, packed and unrolled word by word.
TEST(ModelSummaryTest, Seq2SeqCountsEachParameterOnce) {
  const Totals packed = totals(summarized(Seq2SeqShape{}, 7));
  EXPECT_EQ(packed.parameters, 173'306'946);
  const Totals unrolled = totals(summarized(Seq2SeqShape{.unroll = true}, 7));
  EXPECT_EQ(unrolled.parameters, packed.parameters);
  EXPECT_EQ(unrolled.multiply_adds, packed.multiply_adds);
}

// By hand: LSTMs of 4 gates over 3 source and 4 target words, and the output layer.
TEST(ModelSummaryTest, Seq2SeqMultiplyAdds) {
  const Seq2SeqShape shape{
      .source_words = 11, .target_words = 13, .layers = 2, .units = 5, .embedding = 3};
  const std::int64_t lstm = 4 * 5 * (3 + 5) + 4 * 5 * (5 + 5);
  EXPECT_EQ(totals(summarized(shape, 3)).multiply_adds, (3 + 4) * lstm + 4 * 5 * 13);
}

TEST(ModelSummaryTest, GptsCountTheirTiedWeightOnce) {
  for (const auto& [name, parameters] : {std::pair("gpt-small", 804'096), {"gpt2", 124'439'808}}) {
    const GptShape& shape = find_gpt(name)->shape;
    EXPECT_EQ(totals(summarize({.model = name, .gpt = shape, .window_length = 64})).parameters,
              parameters);
  }
}

}  // namespace
}  // namespace skyline
