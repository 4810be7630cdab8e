#pragma once

#include <string>

#include "train/checkpoints/checkpoint.h"
#include "train/options/train_options.h"
#include "train/text/text_run.h"

namespace skyline {

// The characters of a run's text, in its folder; absent if its words are numbers.
inline constexpr const char* kCharactersFile = "characters.txt";

// Opens the text that the options name: a generator, a file of characters, or one of numbers, which
// are below --vocab-size or the words of the model. Characters are numbered as `known` says, if
// given. Throws UsageError if there is no such text, and DataError as the readers do.
TextStream open_text(const TrainOptions& options, const CharacterSet* known = nullptr);

// Returns the options of a run of a model of so many words; 0: --vocab-size or the model's.
TextRunOptions text_run_options(const TrainOptions& options, std::size_t words);

// Stores the facts about a text in TrainingPosition::data.
void store_data(const TextStream& text, StoredJson& stored);
// Throws CheckpointError if the text's characters, named as of `origin`, are not those that the
// checkpoint that stored this was trained with.
void check_characters(const CharacterSet& characters, const std::string& origin,
                      const StoredJson& stored);
// Throws DataError if the text has another number of words, and as check_characters() does.
void check_data(const TextStream& text, const StoredJson& stored);

}  // namespace skyline
