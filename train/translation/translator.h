#pragma once

#include <cstdint>
#include <vector>

#include "data/text/packed_words.h"
#include "framework/context.h"
#include "models/seq2seq.h"

namespace skyline {

struct TranslatorOptions {
  std::int64_t max_words = 100;  // the paper's
  // Stop when every sentence has ended; else go on for all max_words, as the paper's example does.
  bool stop_at_end = true;
  std::int64_t beam = 1;  // hypotheses kept a sentence; 1: the likeliest word each time
  // Beam search compares log probabilities divided by words^length_penalty: 0 prefers short answers
  // (Wu et al. 2016, "Google's neural machine translation system", section 7, in a simpler form).
  double length_penalty = 1;
};

// The answers to a packed batch of source sentences, in the batch's own order (not the packed one):
// ids up to the end of sentence, which is left out. Runs in inference mode; the requests belong to
// whatever step is open, or to none.
std::vector<std::vector<std::int32_t>> translate(Context& context, const Seq2Seq& model,
                                                 const PackedWords& source,
                                                 const TranslatorOptions& options = {});

}  // namespace skyline
