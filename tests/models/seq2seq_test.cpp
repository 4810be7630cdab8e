#include "models/seq2seq.h"

#include <gtest/gtest.h>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "models/models.h"

namespace skyline {
namespace {

class Seq2SeqTest : public ::testing::Test {
 protected:
  std::int64_t parameters(const Seq2SeqShape& shape) {
    return parameter_count(Seq2Seq(context_, shape));
  }

  SimulatedDevice device_;
  BestFitPool pool_{device_};
  Context context_{pool_, {.dry_run = Emulation()}};
};

TEST_F(Seq2SeqTest, HasAsManyParametersAsThePaperReports) {
  EXPECT_EQ(parameters({}), 173'306'946);
  EXPECT_EQ(parameters({.source_words = 10'002,
                        .target_words = 10'002,
                        .layers = 2,
                        .units = 256,
                        .embedding = 256}),
            9'796'882);
}

TEST_F(Seq2SeqTest, AnswersEachTargetWord) {
  const Seq2SeqShape shape{
      .source_words = 50, .target_words = 60, .layers = 2, .units = 8, .embedding = 4};
  for (const bool unroll : {false, true}) {
    Seq2SeqShape wanted = shape;
    wanted.unroll = unroll;
    const Seq2Seq model(context_, wanted);
    const PackedShape source({3, 2}), target({3, 3, 1});
    const auto words = [this](const PackedShape& packed) {
      return context_.upload({{packed.rows()}, DType::kInt32}, nullptr, "words");
    };
    LstmState state = model.encode(context_, words(source), source);
    EXPECT_EQ(state.h.shape(), (Shape{2 * 3, 8}));
    state = model.reordered(context_, std::move(state), {2, 0, 1});
    EXPECT_EQ(state.c.shape(), (Shape{2 * 3, 8}));
    const LstmOutput decoded = model.decode(context_, std::move(state), words(target), target);
    EXPECT_EQ(decoded.h.shape(), (Shape{2 * 3, 8}));
    EXPECT_EQ(model.logits(context_, decoded.y).shape(), (Shape{7, 60}));
  }
}

}  // namespace
}  // namespace skyline
