#pragma once

#include <cstdint>
#include <vector>

#include "data/text/pair_loader.h"
#include "framework/context.h"
#include "models/seq2seq.h"

namespace skyline {

struct TranslatorOptions {
  std::int64_t max_words = 100;  // as in the paper
  // Stop when every sentence has ended; otherwise decode max_words, as the paper's example does.
  bool stop_at_end = true;
  std::int64_t beam = 1;  // hypotheses kept per sentence; 1: greedy
  // Beam search compares log probabilities divided by words^length_penalty: 0 prefers short answers
  // (Wu et al. 2016, "Google's neural machine translation system", section 7, in a simpler form).
  double length_penalty = 1;
};

// Translates a packed batch of source sentences. Returns word ids without the end of sentence, in
// the batch's own order (not the packed one). Runs in inference mode. Opens no step; its requests
// belong to the caller's step, if there is one.
std::vector<std::vector<std::int32_t>> translate(Context& context, const Seq2Seq& model,
                                                 const PackedWords& source,
                                                 const TranslatorOptions& options = {});

}  // namespace skyline
