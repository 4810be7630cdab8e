#include "train/lab/pgmo/pgmo_seq2seq.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "train/lab/pgmo/sentence_lengths.h"
#include "train/options/memory_options.h"
#include "train/run/memory_summary.h"
#include "train/run/step_scope.h"
#include "train/translation/translation_run.h"
#include "train/translation/translator.h"

namespace skyline {
namespace {

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
      run_.step(batch, {});
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
