#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

class OptionList;
struct GptShape;
struct TranslationOptions;

// Text and size of a model that goes on with a text; layers, units, dropout and the vocabulary of
// --tokens are in TranslationOptions. Text comes from the generator `sums` or a file, given by
// --data, or from numbers of words.
struct GptOptions {
  std::string tokens;                  // file of words as numbers; empty: --data
  std::int64_t characters = 200'000;   // of the generator
  std::optional<std::int64_t> length;  // words of a window; unset: the model's most
  std::optional<std::int64_t> heads;   // unset: the model's
  bool biases = false;                 // also of a model that has none
};

// --heads, --length and --biases.
void add_gpt_network_options(OptionList& list, GptOptions& options);
// All options.
void add_gpt_options(OptionList& list, GptOptions& options);

// Returns the shape of the gpt of this name, with at least as many positions as a window has words,
// and `words` words; 0: --vocab-size or the model's. `sizes` has the shared options.
GptShape gpt_shape(std::string_view model, const TranslationOptions& sizes,
                   const GptOptions& options, std::int64_t words = 0);
// Returns the words of a window.
std::int64_t window_length(std::string_view model, const GptOptions& options);

}  // namespace skyline
