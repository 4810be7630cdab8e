// The trace simulated from the step graph equals the one that the allocator recorded, tick for
// tick.

#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "tests/train/images/paper_training.h"
#include "tests/train/translation/small_translation.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/options/train_options.h"
#include "train/run/step_scope.h"

namespace skyline {
namespace {

using namespace tests;

struct TracedStep {
  std::string model;
  Mode mode;
  bool in_place;
  int recompute = 0;
  bool fused_update = false;
  std::string order = "program";
  bool freezes = false;  // every other layer, normalizations among them

  StepOptions step() const {
    StepOptions step{
        .in_place = in_place, .recompute = recompute, .fused_update = fused_update, .order = order};
    if (freezes) step.freeze = {"*1*"};
    step.frozen = frozen_parameters({.model = model, .step = step});
    return step;
  }
  Context::Options options() const {
    Context::Options options = context_options(step());
    options.mode = mode;
    options.seed = seeded().seed;
    return options;
  }
};

std::string name_of(const ::testing::TestParamInfo<TracedStep>& info) {
  return info.param.model + (info.param.mode == Mode::kTraining ? "_training" : "_inference") +
         (info.param.in_place ? "_in_place" : "_out_of_place") +
         (info.param.recompute > 0 ? "_recompute" : "") +
         (info.param.fused_update ? "_fused_update" : "") + (info.param.freezes ? "_frozen" : "") +
         (info.param.order == "program" ? "" : "_" + info.param.order);
}

std::vector<TracedStep> all_cases() {
  std::vector<TracedStep> cases;
  for (const std::string& model : small_model_names()) {
    for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
      for (const bool in_place : {true, false}) cases.push_back({model, mode, in_place});
    }
    for (const bool in_place : {true, false}) {
      cases.push_back({model, Mode::kTraining, in_place, 2});
      cases.push_back({model, Mode::kTraining, in_place, 0, true});
      for (const int recompute : {0, 2}) {
        cases.push_back(
            {model, Mode::kTraining, in_place, recompute, recompute > 0, "program", true});
        cases.push_back({model, Mode::kTraining, in_place, recompute, recompute > 0, "optimal"});
      }
    }
  }
  return cases;
}

// Describes the first request that differs, for the failure's message.
std::string difference(const Trace& recorded, const Trace& simulated) {
  const auto text = [](const Trace& trace, std::size_t i) {
    if (i >= trace.size()) return std::string("nothing");
    const TraceBlock& block = trace.blocks[i];
    return trace.tags[i].op + " of " + trace.tags[i].layer + " [" + std::to_string(block.lower) +
           ", " + std::to_string(block.upper) + ") " + std::to_string(block.bytes);
  };
  for (std::size_t i = 0; i < std::max(recorded.size(), simulated.size()); ++i) {
    const bool same =
        i < recorded.size() && i < simulated.size() && recorded.blocks[i] == simulated.blocks[i];
    if (!same) {
      return "request " + std::to_string(i) + ": recorded " + text(recorded, i) + ", simulated " +
             text(simulated, i);
    }
  }
  return "none";
}

class TraceEqualityTest : public ::testing::TestWithParam<TracedStep> {
 protected:
  // Checks the second step, because the first one does some things only once.
  void check(const std::string& device, bool execute) {
    Context::Options options = GetParam().options();
    if (!execute) options.dry_run.emplace();
    const ModelShape shape = small_shape(GetParam().model);
    ImageRun experiment({.device = device, .allocator = "best-fit-pool"}, options,
                        {.model = GetParam().model, .shape = shape, .watch = {.record = true}});
    experiment.context.watch().record_graph = true;
    for (const Batch& batch : small_batches(shape, 4, 2))
      experiment.train_step(batch, small_params());
    const Trace& recorded = experiment.memory.recording()->last_step();
    const Trace simulated =
        simulate(experiment.context.step_graph(), {.in_place = GetParam().in_place});
    ASSERT_GT(recorded.size(), 5u);
    EXPECT_TRUE(recorded.same_requests(simulated)) << difference(recorded, simulated);
    EXPECT_EQ(recorded.tags, simulated.tags);
  }
};

TEST_P(TraceEqualityTest, OfARealStep) { check("cpu", true); }
TEST_P(TraceEqualityTest, OfADryStep) { check("simulated", false); }

TEST_P(TraceEqualityTest, ADryStepRequestsWhatARealOneDoes) {
  const ModelShape shape = small_shape(GetParam().model);
  ImageRun experiment({.allocator = "best-fit-pool"}, GetParam().options(),
                      {.model = GetParam().model, .shape = shape, .watch = {.record = true}});
  experiment.train_step(small_batches(shape, 4, 1).front(), small_params());
  const DryRunFacts dry = dry_run({.model = GetParam().model,
                                   .shape = shape,
                                   .batch_size = 4,
                                   .mode = GetParam().mode,
                                   .step = GetParam().step()});
  const Trace& recorded = experiment.memory.recording()->last_step();
  EXPECT_TRUE(dry.trace.same_requests(recorded)) << difference(recorded, dry.trace);
  EXPECT_EQ(dry.resident_bytes, experiment.resident_bytes());
}

TEST_P(TraceEqualityTest, NoBlockOfAStepOutlivesIt) {
  const ModelShape shape = small_shape(GetParam().model);
  ImageRun experiment({.allocator = "best-fit-pool"}, GetParam().options(),
                      {.model = GetParam().model, .shape = shape});
  for (const Batch& batch : small_batches(shape, 4, 2)) {
    experiment.train_step(batch, small_params());
    EXPECT_EQ(experiment.memory.statistics().allocated_bytes, experiment.resident_bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TraceEqualityTest, ::testing::ValuesIn(all_cases()), name_of);

// The paper's networks on two small images. Images of full size take seconds and gigabytes; the
// variable SKYLINE_PAPER_SIZE selects them.
class PaperNetworkTraceTest : public ::testing::TestWithParam<std::tuple<PaperNetwork, Mode>> {
 protected:
  static ModelShape shape() {
    const PaperNetwork& network = std::get<0>(GetParam());
    const bool paper_size = std::getenv("SKYLINE_PAPER_SIZE") != nullptr;
    return paper_size ? find_model(network.name).shape : step_shape(network);
  }
};

TEST_P(PaperNetworkTraceTest, RecordedSimulatedAndDryStepsAreOne) {
  const auto& [network, mode] = GetParam();
  for (const auto& [recompute, in_place] :
       {std::pair{0, true}, std::pair{0, false}, std::pair{3, true}}) {
    if (recompute > 0 && mode == Mode::kInference) continue;
    const StepOptions step{.in_place = in_place,
                           .recompute = static_cast<std::int64_t>(recompute),
                           .fused_update = recompute > 0};
    Context::Options options = context_options(step);
    options.mode = mode;
    options.seed = seeded().seed;
    ImageRun experiment({.allocator = "best-fit-pool"}, options,
                        {.model = network.name, .shape = shape(), .watch = {.record = true}});
    experiment.context.watch().record_graph = true;
    for (const Batch& batch : small_batches(shape(), 2, 2))
      experiment.train_step(batch, small_params());
    const Trace& recorded = experiment.memory.recording()->last_step();
    const Trace simulated = simulate(experiment.context.step_graph(), {.in_place = in_place});
    EXPECT_TRUE(recorded.same_requests(simulated)) << difference(recorded, simulated);
    EXPECT_EQ(recorded.tags, simulated.tags);
    const DryRunFacts dry = dry_run(
        {.model = network.name, .shape = shape(), .batch_size = 2, .mode = mode, .step = step});
    EXPECT_TRUE(recorded.same_requests(dry.trace)) << difference(recorded, dry.trace);
    EXPECT_EQ(recorded.tags, dry.trace.tags);
    EXPECT_EQ(experiment.resident_bytes(), dry.resident_bytes);
    EXPECT_EQ(experiment.memory.statistics().allocated_bytes, dry.resident_bytes);
  }
}

std::string network_and_mode(const ::testing::TestParamInfo<std::tuple<PaperNetwork, Mode>>& info) {
  const auto& [network, mode] = info.param;
  return test_name(network.name) + (mode == Mode::kTraining ? "_training" : "_inference");
}

INSTANTIATE_TEST_SUITE_P(Networks, PaperNetworkTraceTest,
                         ::testing::Combine(::testing::ValuesIn(networks_by_day()),
                                            ::testing::Values(Mode::kTraining, Mode::kInference)),
                         network_and_mode);

// Translation steps of varying shapes, with LSTMs as one op or unrolled word by word.
class TranslationTraceTest : public ::testing::TestWithParam<std::tuple<bool, Mode, bool>> {
 protected:
  static void read_loss(TranslationRun& experiment, const PairBatch& batch) {
    StepScope step(experiment.context, translation_key(batch));
    float loss = 0;
    experiment.context.download(translation_loss(experiment.context, experiment.model, batch),
                                &loss);
    step.end();
  }

  // Runs an inference step and reads every result: logits and the decoder's last states.
  static void read_all(TranslationRun& experiment, const PairBatch& batch) {
    Context& context = experiment.context;
    const auto upload = [&context](const PackedWords& side) {
      const auto words = static_cast<std::int64_t>(side.words.size());
      return context.upload({{words}, DType::kInt32}, side.words.data());
    };
    const auto download = [&context](Tensor tensor) {
      std::vector<float> host(static_cast<std::size_t>(tensor.shape().elements()));
      context.download(std::move(tensor), host.data());
    };
    StepScope step(context, translation_key(batch));
    LstmState state = experiment.model.encode(context, upload(batch.source),
                                              PackedShape(batch.source.batch_sizes));
    state = experiment.model.reordered(context, std::move(state), batch.source_to_target);
    LstmOutput decoded = experiment.model.decode(context, std::move(state), upload(batch.target),
                                                 PackedShape(batch.target.batch_sizes));
    download(experiment.model.logits(context, std::move(decoded.y)));
    download(std::move(decoded.h));
    download(std::move(decoded.c));
    step.end();
  }
};

TEST_P(TranslationTraceTest, RecordedAndSimulatedStepsAreOne) {
  const auto& [unroll, mode, in_place] = GetParam();
  const TranslationData data = small_text();
  TranslationRun experiment({.allocator = "best-fit-pool"}, seeded(mode, in_place),
                            small_run(small_seq2seq(data, unroll), {.record = true}));
  experiment.context.watch().record_graph = true;
  const auto expect_one = [&] {
    const Trace& recorded = experiment.memory.recording()->last_step();
    const Trace simulated =
        simulate(experiment.context.step_graph(), {.in_place = std::get<2>(GetParam())});
    EXPECT_TRUE(recorded.same_requests(simulated)) << difference(recorded, simulated);
    EXPECT_EQ(recorded.tags, simulated.tags);
  };
  for (const PairBatch& batch : small_pair_batches(data, 3)) {
    if (mode == Mode::kTraining) {
      run_steps(experiment, {batch});
    } else {
      read_loss(experiment, batch);
      expect_one();
      read_all(experiment, batch);
    }
    expect_one();
  }
}

std::string translation_case(const ::testing::TestParamInfo<std::tuple<bool, Mode, bool>>& info) {
  const auto& [unroll, mode, in_place] = info.param;
  return std::string(unroll ? "unrolled" : "packed") +
         (mode == Mode::kTraining ? "_training" : "_inference") +
         (in_place ? "_in_place" : "_out_of_place");
}

INSTANTIATE_TEST_SUITE_P(Seq2Seq, TranslationTraceTest,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Mode::kTraining, Mode::kInference),
                                            ::testing::Bool()),
                         translation_case);

// In-place ops lower the number of requests in every network.
TEST(TraceEqualityTest, InPlaceMakesFewerRequests) {
  for (const ModelEntry& entry : models()) {
    const std::string model(entry.name);
    SCOPED_TRACE(model);
    DryRunOptions options{.model = model, .shape = entry.shape, .batch_size = 4};
    const std::size_t in_place = dry_run(options).trace.size();
    options.step.in_place = false;
    EXPECT_LT(in_place, dry_run(options).trace.size());
  }
}

}  // namespace
}  // namespace skyline
