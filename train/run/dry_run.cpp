#include "train/run/dry_run.h"

#include <numeric>

#include "memory/replay/live_bytes.h"
#include "models/models.h"

namespace skyline {
namespace {

// Ops of a batch's forward pass run first and as written. `orders` are the sequences of the others,
// batch by batch, in which 0 stands for the forward pass and i + 1 for the i-th op after it; none:
// as written.
std::vector<OpId> program_numbers(const RecordedStep& step,
                                  const std::vector<std::vector<OpId>>& orders) {
  std::vector<OpId> numbers(step.graph.ops.size());
  std::iota(numbers.begin(), numbers.end(), OpId{0});
  if (numbers.empty()) return numbers;
  for (std::size_t batch = 0; batch < orders.size(); ++batch) {
    const bool last = batch + 1 == orders.size();
    const std::size_t end = last ? numbers.size() : step.batches[batch + 1];
    const std::size_t backward = end - (orders[batch].size() - 1);
    std::size_t place = backward;
    for (const OpId op : orders[batch]) {
      if (op > 0) numbers[place++] = static_cast<OpId>(backward) + op - 1;
    }
  }
  return numbers;
}

}  // namespace

DryRunFacts last_batch(DryRunFacts facts) {
  if (facts.step.batches.size() < 2) return facts;
  const OpId first = facts.step.batches.back();
  facts.step = last_batch(facts.step);
  facts.program_numbers.erase(facts.program_numbers.begin(), facts.program_numbers.begin() + first);
  for (OpId& number : facts.program_numbers) number -= first;
  return facts;
}

MemoryOptions dry_memory(bool guard) {
  return {.device = "simulated", .allocator = std::string(kRunRecorder), .guard = guard};
}

Context::Options dry_context(Context::Options options, Mode mode) {
  if (!options.dry_run) options.dry_run.emplace();
  options.mode = mode;
  if (options.orders) options.orders = std::make_shared<NotedOrders>(options.orders);
  return options;
}

DryRunFacts DryRun::foresee(std::int64_t batch_size, Mode mode, Graph graph) {
  run_->take_empty_batch(batch_size);
  return foresee(mode, graph);
}

DryRunFacts DryRun::foresee(Mode mode, Graph graph) {
  Context& context = run_->context;
  context.watch().record_graph = graph == Graph::kOn;
  if (mode == Mode::kTraining) {
    run_->train_step({});
  } else {
    run_->inference_step();
  }
  RecordedRun recorded = run_->memory.recorder()->run();
  // The recording holds the staging request of the first step. A run of this batch would stage this
  // batch instead.
  if (first_staging_bytes_ == 0) first_staging_bytes_ = context.staging_bytes();
  for (RecordedRun::Request& request : recorded.requests) {
    if (request.tag.op != kStagingOp) continue;
    request.bytes = request.bytes - first_staging_bytes_ + run_->input_bytes();
  }
  const auto orders = std::dynamic_pointer_cast<NotedOrders>(context.options().orders);
  const auto taken = orders ? orders->take() : std::vector<std::vector<OpId>>();
  return {.step = context.recorded_step(),
          .program_numbers = program_numbers(context.recorded_step(), taken),
          .trace = run_->memory.recording()->last_step(),
          .run = recorded,
          .parameters = parameter_count(run_->network()),
          .trained_parameters = parameter_count(run_->updated_parameters()),
          .resident_bytes = recorded.resident_bytes(kAlignmentBytes),
          .peak_bytes = category_peaks(recorded, 1)};
}

Context::Options as_chainer(Context::Options options) {
  options.in_place = false;
  options.savings = std::make_shared<ByteSavings>(ByteSavings{.early_sums = true});
  if (!options.dry_run) options.dry_run.emplace();
  options.dry_run->chainer_ops = true;
  return options;
}

}  // namespace skyline
