#include "train/options/gpt_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/gpt.h"
#include "train/cli/option_list.h"
#include "train/options/translation_options.h"

namespace skyline {
namespace {

constexpr unsigned kOfGpt = kGptOnly | kMayBeAbsent;
constexpr std::int64_t kMostCharacters = 1'000'000'000;  // a billion take 2 GB
constexpr std::int64_t kMostLength = 65'536;

}  // namespace

void add_gpt_network_options(OptionList& list, GptOptions& options) {
  list.add("--heads", integer(options.heads, 1, 1024),
           "Heads of attention; divide the units (default: the model's)", kOfGpt);
  list.add("--length", integer(options.length, 1, kMostLength),
           "Words of a window (default: the model's most, 64 of gpt-small, 256 of gpt-medium and "
           "1024 of gpt2; a larger number adds positions to the model)",
           kOfGpt);
  list.add("--biases", flag(options.biases), "Give gpt-small or gpt-medium biases, as gpt2 has",
           kOfGpt);
}

void add_gpt_options(OptionList& list, GptOptions& options) {
  list.add("--tokens", text(options.tokens, "FILE"),
           "Text as numbers of 16 bits, of GPT-2's tokenizer for example, instead of --data",
           kOfGpt);
  list.add("--characters", integer(options.characters, 100, kMostCharacters),
           "Characters to generate", kOfGpt);
  add_gpt_network_options(list, options);
}

GptShape gpt_shape(std::string_view model, const TranslationOptions& sizes,
                   const GptOptions& options, std::int64_t words) {
  GptShape shape = find_gpt(model)->shape;
  shape.words = words > 0 ? words : sizes.vocab_size.value_or(shape.words);
  shape.positions = std::max(shape.positions, window_length(model, options));
  shape.layers = sizes.layers.value_or(shape.layers);
  shape.heads = options.heads.value_or(shape.heads);
  shape.units = sizes.units.value_or(shape.units);
  shape.biases = shape.biases || options.biases;
  shape.dropout = static_cast<float>(sizes.dropout.value_or(shape.dropout));
  if (shape.units % shape.heads == 0) return shape;
  throw UsageError(
      fmt::format("--heads {} does not divide the {} units", shape.heads, shape.units));
}

std::int64_t window_length(std::string_view model, const GptOptions& options) {
  return options.length.value_or(find_gpt(model)->shape.positions);
}

}  // namespace skyline
