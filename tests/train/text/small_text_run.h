#pragma once

#include <string>
#include <vector>

#include "framework/philox.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/options/train_options.h"
#include "train/text/text_data.h"
#include "train/text/text_run.h"

// A small model that goes on with sums.
namespace skyline::tests {

inline const TextStream& small_sums() {
  static const TextStream text = sums_text(3000, Philox{5});
  return text;
}

inline constexpr std::size_t kSmallLength = 12;

inline TextRunOptions small_gpt(const MemoryWatch& watch = {}) {
  return {.shape = {.words = static_cast<std::int64_t>(small_sums().vocabulary),
                    .positions = kSmallLength,
                    .layers = 2,
                    .heads = 2,
                    .units = 16,
                    .dropout = 0.1f},
          .length = kSmallLength,
          .optimizer = {.name = "adamw", .weight_decay = 0.1f, .clip = 1},
          .watch = watch,
          .batch_size = 4};
}

// Runs steps over the text from its start; returns their losses.
inline std::vector<float> run_steps(TextRun& run, int steps, float rate = 1e-3f) {
  std::vector<float> losses;
  run.seek({}, 9);
  for (int step = 1; step <= steps; ++step) {
    run.next();
    losses.push_back(run.train_step({.learning_rate = rate, .step = step}));
  }
  return losses;
}

inline std::string parameters_sha256(TextRun& run) {
  return tensors_sha256(run.context, values_of(run.network().parameters()));
}

}  // namespace skyline::tests
