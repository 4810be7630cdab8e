#include "train/lab/pgmo/pgmo_seq2seq.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "framework/philox.h"
#include "train/options/memory_options.h"
#include "train/run/memory_summary.h"
#include "train/translation/translation_run.h"

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

constexpr const char* kAllocators[] = {"network-wise", "exact-pool", "best-fit-pool",
                                       "planned-grow", "planned-upper-bound"};

// Returns the paper's model on a simulated device.
std::unique_ptr<TranslationRun> paper_run(const Context::Options& context,
                                          const std::string& allocator, bool record = false) {
  MemoryOptions memory;
  memory.device = "simulated";
  memory.planner = "best-fit";
  return std::make_unique<TranslationRun>(
      with_policy(memory, allocator), context,
      TranslationRunOptions{.watch = {.record = record}, .translate_words = kPgmoAnswerWords});
}

std::vector<Trace> traces_of(const Context::Options& context,
                             const std::vector<PairBatch>& batches) {
  const auto run = paper_run(context, "network-wise", true);
  std::vector<Trace> traces;
  for (const PairBatch& batch : batches) {
    run->train_step(batch, {});
    traces.push_back(run->memory.recording()->last_step());
  }
  return traces;
}

PgmoArm arm_of(const Context::Options& context, const std::string& allocator,
               const std::vector<PairBatch>& batches, const std::vector<Trace>& traces) {
  const auto run = paper_run(context, allocator);
  if (allocator == "planned-upper-bound") {
    run->memory.session()->adopt(traces, {0, run->step_kind()});
  }
  run->train_step(batches.front(), {});
  const std::uint64_t first = run->memory.statistics().device_allocations;
  for (const PairBatch& batch : std::span(batches).subspan(1)) run->train_step(batch, {});
  const MemorySummary facts = memory_summary(*run, allocator, first);
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

PgmoStep pgmo_seq2seq(Mode mode, std::int64_t batch_size, bool as_chainer) {
  Context::Options context{.dry_run = Emulation(), .mode = mode};
  if (as_chainer) context = skyline::as_chainer(std::move(context));
  const std::vector<PairBatch> batches = drawn_mini_batches(kPgmoMiniBatches, batch_size);
  std::vector<Trace> traces = traces_of(context, batches);
  PgmoMiniBatches ran{.count = kPgmoMiniBatches};
  for (const char* allocator : kAllocators) {
    ran.arms.push_back(arm_of(context, allocator, batches, traces));
  }
  const auto longest = std::ranges::max_element(traces, {}, live_bytes);
  PgmoMemory memory{.resident_bytes = paper_run(context, "network-wise")->resident_bytes(),
                    .network_wise_bytes = ran.arm("network-wise").reserved_bytes,
                    .exact_pool_bytes = ran.arm("exact-pool").reserved_bytes,
                    .pool_bytes = ran.arm("best-fit-pool").reserved_bytes};
  ran.live_bytes = memory.resident_bytes + live_bytes(*longest);
  memory.mini_batches = std::move(ran);
  return {std::move(memory), std::move(*longest)};
}

}  // namespace skyline
