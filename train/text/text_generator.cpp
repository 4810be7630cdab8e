#include "train/text/text_generator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "framework/philox.h"

namespace skyline {

std::uint16_t sampled_word(std::span<const float> logits, const SamplerOptions& options,
                           std::uint64_t number) {
  if (options.temperature == 0) {
    return static_cast<std::uint16_t>(std::ranges::max_element(logits) - logits.begin());
  }
  std::vector<std::uint16_t> words(logits.size());
  std::iota(words.begin(), words.end(), std::uint16_t{0});
  // The lower of two words with equal logits is the likelier one.
  std::ranges::stable_sort(words, std::greater(), [&](std::uint16_t word) { return logits[word]; });
  if (options.top_k > 0) {
    words.resize(std::min(words.size(), static_cast<std::size_t>(options.top_k)));
  }
  std::vector<double> sums;  // of probabilities, up to a factor
  for (double sum = 0; const std::uint16_t word : words) {
    sum += std::exp((double{logits[word]} - double{logits[words.front()]}) / options.temperature);
    sums.push_back(sum);
  }
  const auto random = Philox{options.seed}(0, number);
  const double share = (std::uint64_t{random[0]} << 21 ^ random[1] >> 11) * 0x1p-53;
  const auto found = std::ranges::upper_bound(sums, share * sums.back());
  return words[std::min(static_cast<std::size_t>(found - sums.begin()), words.size() - 1)];
}

std::vector<std::uint16_t> generate(TextRun& run, std::span<const std::uint16_t> prompt,
                                    std::size_t length, std::size_t count,
                                    const SamplerOptions& options) {
  std::vector<std::int32_t> words(prompt.begin(), prompt.end());
  for (std::size_t number = 0; number < count; ++number) {
    const std::size_t seen = std::min(words.size(), length);
    const std::vector<float> logits = run.next_word(std::span(words).last(seen));
    words.push_back(sampled_word(logits, options, number));
  }
  return {words.end() - static_cast<std::ptrdiff_t>(count), words.end()};
}

}  // namespace skyline
