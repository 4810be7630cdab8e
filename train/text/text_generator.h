#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/text/text_run.h"

namespace skyline {

struct SamplerOptions {
  double temperature = 0.8;  // divides the logits; 0: the likeliest word, the first of equal ones
  std::int64_t top_k = 0;    // only so many of the likeliest words; 0: all
  std::uint64_t seed = 0;
};

// Returns the word that the number-th drawing takes, of logits [V]: by Philox, so that it depends
// only on these arguments. Computes in double precision.
std::uint16_t sampled_word(std::span<const float> logits, const SamplerOptions& options,
                           std::uint64_t number);

// Returns `count` words that follow the prompt, one after another; each sees at most `length` words
// before it. The prompt has at least one word, and the run is in inference mode.
std::vector<std::uint16_t> generate(TextRun& run, std::span<const std::uint16_t> prompt,
                                    std::size_t length, std::size_t count,
                                    const SamplerOptions& options);

}  // namespace skyline
