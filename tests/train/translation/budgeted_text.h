#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/train/decided_run.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/options/train_options.h"

namespace skyline::tests {

struct TextBits {
  std::vector<float> losses;
  std::string parameters, state;
  bool operator==(const TextBits&) const = default;
};

// A run with its data. Throws UsageError if the budget is too small for one of its batches.
struct BudgetedText {
  explicit BudgetedText(const TrainOptions& given, const LiveParts& live = {})
      : options(resolved(given)),
        decided(decided_workload(options, live, console)),
        run(run_on(decided, options.memory)) {
    run->seek({}, options.data.seed);
  }

  TextBits train(
      std::int64_t steps, const std::function<void()>& after_step = [] {}) {
    TextBits bits;
    for (std::int64_t step = 1; step <= steps; ++step) {
      run->next();
      bits.losses.push_back(run->train_step({.learning_rate = 0.01f, .step = step}));
      if (run->context.options().savings) ++steps_that_make_again;
      after_step();
    }
    bits.parameters = tensors_sha256(run->context, values_of(run->network().parameters()));
    bits.state = tensors_sha256(run->context, values_of(run->optimizer_state()));
    return bits;
  }
  std::uint64_t peak_reserved() const {
    return run->memory.device().statistics().peak_reserved_bytes;
  }

  std::ostringstream messages;
  Console console{messages, {}};
  TrainOptions options;
  DecidedWorkload decided;
  std::unique_ptr<ModelRun> run;
  int steps_that_make_again = 0;
};

inline TrainOptions within(TrainOptions options, std::uint64_t bytes) {
  options.step.memory_bytes = bytes;
  return options;
}

}  // namespace skyline::tests
