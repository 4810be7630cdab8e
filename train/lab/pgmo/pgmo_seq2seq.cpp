#include "train/lab/pgmo/pgmo_seq2seq.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "framework/philox.h"
#include "train/options/memory_options.h"
#include "train/run/memory_summary.h"
#include "train/run/step_scope.h"
#include "train/translation/translation_run.h"
#include "train/translation/translation_step.h"
#include "train/translation/translator.h"

namespace skyline {
namespace {

constexpr double kMeanSource = 25.1, kMeanLogRatio = 0.150, kDeviationOfLogRatio = 0.195;

// Draws the source and target length of one pair, before any rejection.
std::pair<double, double> drawn_pair(const Philox& random, std::uint64_t number,
                                     std::uint64_t draw) {
  const auto words = random(number, 2 * draw), more = random(number, 2 * draw + 1);
  double exponentials = 0;  // sum of three exponential variables of mean 1: Erlang, shape 3
  for (int i = 0; i < 3; ++i) {
    exponentials -= std::log1p(-double{uniform_float(words[static_cast<std::size_t>(i)])});
  }
  const double source = kMeanSource / 3 * exponentials;
  const double log_ratio =
      kMeanLogRatio + kDeviationOfLogRatio * double{normal_pair(more[0], more[1])[0]};
  return {source, source * std::exp(log_ratio)};
}

constexpr std::int64_t kMiniBatches = 10;  // the paper measured after ten
constexpr TranslatorOptions kPaperTranslation{.max_words = 100, .stop_at_end = false};
constexpr const char* kAllocators[] = {"network-wise", "exact-pool", "best-fit-pool",
                                       "planned-grow", "planned-upper-bound"};

// The paper's model on a simulated device.
class PaperRun {
 public:
  PaperRun(Mode mode, const std::string& allocator, bool record = false)
      : run_(memory_options(allocator), {.execute = false, .mode = mode},
             {.shape = {}, .watch = {.record = record}}) {}

  TranslationRun& get() { return run_; }

  void step(const PairBatch& batch) {
    if (run_.context.training()) {
      run_.train_step(batch, {});
      return;
    }
    StepScope step(run_.context, batch.source.words.size());
    translate(run_.context, run_.model, batch.source, kPaperTranslation);
    step.end();
  }

 private:
  static MemoryOptions memory_options(const std::string& allocator) {
    MemoryOptions memory;
    memory.device = "simulated";
    memory.planner = "best-fit";
    return with_policy(memory, allocator);
  }

  TranslationRun run_;
};

std::vector<Trace> traces_of(Mode mode, const std::vector<PairBatch>& batches) {
  PaperRun paper(mode, "network-wise", true);
  std::vector<Trace> traces;
  for (const PairBatch& batch : batches) {
    paper.step(batch);
    traces.push_back(paper.get().memory.recording()->last_step());
  }
  return traces;
}

PgmoArm arm_of(Mode mode, const std::string& allocator, const std::vector<PairBatch>& batches,
               const std::vector<Trace>& traces) {
  PaperRun paper(mode, allocator);
  MemoryChain& memory = paper.get().memory;
  if (allocator == "planned-upper-bound") memory.session()->adopt(traces);
  paper.step(batches.front());
  const std::uint64_t first = memory.statistics().device_allocations;
  for (const PairBatch& batch : std::span(batches).subspan(1)) paper.step(batch);
  const MemorySummary facts = memory_summary(paper.get(), allocator, first);
  return {.allocator = allocator,
          .reserved_bytes = facts.peak_reserved_bytes,
          .device_allocations = facts.device_allocations_after_switch,
          .replans = facts.session ? facts.session->replans : 0};
}

std::uint64_t live_bytes(const Trace& trace) { return lower_bound_bytes(trace, kAlignmentBytes); }

}  // namespace

SentenceLengths drawn_lengths(std::int64_t pairs, std::uint64_t number, std::int32_t most_words) {
  const Philox random{.seed = 0};
  SentenceLengths lengths;
  for (std::uint64_t draw = 0; std::ssize(lengths.source) < pairs; ++draw) {
    const auto [source, target] = drawn_pair(random, number, draw);
    const long source_words = std::lround(source), target_words = std::lround(target);
    if (std::min(source_words, target_words) < 1) continue;
    if (std::max(source_words, target_words) > most_words) continue;
    lengths.source.push_back(static_cast<std::int32_t>(source_words));
    lengths.target.push_back(static_cast<std::int32_t>(target_words));
  }
  return lengths;
}

std::vector<PairBatch> drawn_mini_batches(std::int64_t count, std::int64_t pairs) {
  std::vector<PairBatch> batches;
  for (std::int64_t i = 0; i < count; ++i) {
    const SentenceLengths lengths = drawn_lengths(pairs, static_cast<std::uint64_t>(i));
    batches.push_back(batch_of_lengths(lengths.source, lengths.target));
  }
  return batches;
}

PgmoSeq2Seq pgmo_seq2seq(Mode mode, std::int64_t batch_size) {
  const std::vector<PairBatch> batches = drawn_mini_batches(kMiniBatches, batch_size);
  std::vector<Trace> traces = traces_of(mode, batches);
  PgmoMiniBatches ran{.count = kMiniBatches};
  for (const char* allocator : kAllocators) {
    ran.arms.push_back(arm_of(mode, allocator, batches, traces));
  }
  const auto longest = std::ranges::max_element(traces, {}, live_bytes);
  PgmoRow row{.network = "seq2seq",
              .mode = mode,
              .batch_size = batch_size,
              .resident_bytes = PaperRun(mode, "network-wise").get().resident_bytes()};
  ran.live_bytes = row.resident_bytes + live_bytes(*longest);
  row.network_wise_bytes = ran.arm("network-wise").reserved_bytes;
  row.exact_pool_bytes = ran.arm("exact-pool").reserved_bytes;
  row.pool_bytes = ran.arm("best-fit-pool").reserved_bytes;
  row.mini_batches = std::move(ran);
  return {std::move(row), std::move(*longest)};
}

}  // namespace skyline
