// Tests that dry training steps of an image and a text model are recorded and explained whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/backward/backward_graph.h"
#include "framework/graph_text.h"
#include "framework/ops/loss/softmax.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "models/models.h"
#include "models/seq2seq.h"

namespace skyline {
namespace {

using testing::HasSubstr;

class RecordedSteps : public ::testing::Test {
 protected:
  RecordedSteps() { context_.watch().record_graph = true; }

  Tensor integers(std::int64_t rows, std::string_view name) {
    return context_.upload({{rows}, DType::kInt32}, nullptr, name);
  }

  // The recorded requests are those of the graph, and every output's memory is explained.
  std::string explained() {
    context_.end_step();
    const RecordedStep& step = context_.recorded_step();
    EXPECT_TRUE(recorder_.last_step().same_requests(simulate(step.graph)));
    EXPECT_EQ(step.memory.size(), step.graph.ops.size());
    for (std::size_t k = 0; k < step.memory.size(); ++k) {
      EXPECT_EQ(step.memory[k].size(), step.graph.ops[k].outputs.size());
      for (const OutputMemory& memory : step.memory[k]) {
        EXPECT_TRUE(memory.input >= 0 || !memory.reason.empty()) << step.graph.ops[k].name;
      }
    }
    return to_text(step);
  }

  SimulatedDevice device_;
  BestFitPool pool_{device_};
  RecordingAdaptor recorder_{pool_};
  Context context_{recorder_, {.dry_run = Emulation()}};
};

TEST_F(RecordedSteps, LeNet) {
  const auto model = find_model("lenet").make(context_, {});
  context_.begin_step();
  Tensor labels = integers(2, "labels");
  Tensor logits = model->forward(context_, context_.upload({{2, 1, 28, 28}}, nullptr)).logits;
  backward(context_, softmax_cross_entropy(context_, std::move(logits), std::move(labels)));
  const std::string text = explained();
  EXPECT_THAT(text, HasSubstr("forward reshape of "));
  EXPECT_THAT(text, HasSubstr("writes v"));
  EXPECT_THAT(text, HasSubstr("gradient of conv1.weight f32[6, 1, 5, 5], the output is resident"));
  EXPECT_THAT(text, HasSubstr("gradient_seed | reads v"));
}

TEST_F(RecordedSteps, Seq2SeqPackedAndUnrolled) {
  for (const bool unroll : {false, true}) {
    const Seq2Seq model(context_, {.source_words = 50,
                                   .target_words = 60,
                                   .layers = 2,
                                   .units = 8,
                                   .embedding = 4,
                                   .unroll = unroll});
    context_.begin_step();
    const PackedShape source({3, 2}), target({3, 3, 1});
    LstmState state = model.encode(context_, integers(source.rows(), "source"), source);
    LstmOutput decoded = model.decode(context_, std::move(state), integers(target.rows(), "target"),
                                      target, LstmWanted::kOutputs);
    backward(context_, softmax_cross_entropy(context_, model.logits(context_, std::move(decoded.y)),
                                             integers(target.rows(), "answers")));
    EXPECT_THAT(explained(), HasSubstr(unroll ? "lstm_cell_grad of" : "lstm_grad of"));
  }
}

// Logits of one panel, or of few words, are not worth the panels.
TEST_F(RecordedSteps, Seq2SeqTakesItsLossInPanelsWhereThatSavesBytes) {
  const Seq2Seq model(
      context_, {.source_words = 50, .target_words = 600, .layers = 1, .units = 8, .embedding = 4});
  for (const std::int32_t sentences : {32, 65}) {
    context_.begin_step();
    const PackedShape source({sentences}), target({sentences, sentences, sentences, sentences});
    LstmState state = model.encode(context_, integers(source.rows(), "source"), source);
    LstmOutput decoded = model.decode(context_, std::move(state), integers(target.rows(), "target"),
                                      target, LstmWanted::kOutputs);
    backward(context_, model.loss(context_, std::move(decoded.y),
                                  integers(target.rows(), "answers"), {.divisor = 4}));
    const bool in_panels = explained().find("linear_cross_entropy of W") != std::string::npos;
    EXPECT_EQ(in_panels, sentences == 65);
  }
}

}  // namespace
}  // namespace skyline
