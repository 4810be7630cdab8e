#include "train/text/text_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "framework/philox.h"
#include "models/gpt.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

// Keys in TrainingPosition::data.
constexpr const char* kCharacters = "characters";
constexpr const char* kWords = "words";  // of the text

}  // namespace

TextStream open_text(const TrainOptions& options, const CharacterSet* known) {
  const TextOptions& text = options.text;
  if (!text.tokens.empty()) {
    const GptShape shape = gpt_shape(options.model, text);
    return read_tokens(ByteReader::open(text.tokens), static_cast<std::size_t>(shape.words));
  }
  const std::string& data = options.data.data;
  const std::string generator(task_of(options.model).generator);
  if (data == generator) {
    return sums_text(static_cast<std::size_t>(text.characters), Philox{options.data.seed});
  }
  if (std::filesystem::is_regular_file(data)) {
    return read_characters(ByteReader::open(data), known);
  }
  const std::vector<std::string> generators = {generator};
  if (data.find('/') == std::string::npos && nearest(data, generators)) {
    throw UsageError(unknown_name("text", data, generators));
  }
  throw UsageError(
      fmt::format("no text '{}': neither a generator ({}) nor a file", data, generator));
}

TextRunOptions text_run_options(const TrainOptions& options, std::size_t words) {
  return {.shape = gpt_shape(options.model, options.text, static_cast<std::int64_t>(words)),
          .length = static_cast<std::size_t>(window_length(options.model, options.text)),
          .optimizer = optimizer_options(options),
          .batch_size = static_cast<std::size_t>(options.batch_size)};
}

void store_data(const TextStream& text, StoredJson& stored) {
  (*stored)[kCharacters] = text.characters.fingerprint();
  (*stored)[kWords] = text.words.size();
}

void check_characters(const CharacterSet& characters, const std::string& origin,
                      const StoredJson& stored) {
  const std::string trained = stored->value(kCharacters, std::string());
  if (characters.fingerprint() == trained) return;
  throw CheckpointError(
      fmt::format("[{}] has {}, not those that the checkpoint was trained with, expected {}",
                  origin, characters.fingerprint(), trained));
}

void check_data(const TextStream& text, const StoredJson& stored) {
  const auto trained = stored->value(kWords, text.words.size());
  if (text.words.size() != trained) {
    throw DataError(text.name, "length of the text", std::to_string(text.words.size()),
                    std::to_string(trained) + ", as in training");
  }
  check_characters(text.characters, text.name, stored);
}

}  // namespace skyline
