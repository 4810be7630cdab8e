#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "data/random.h"
#include "data/text/parallel_text.h"

namespace skyline {

inline constexpr std::uint32_t kLargestNumber = 1'000'000;

// `number` ≤ kLargestNumber in words, or DataError.
// English as in the United States, without "and"; hyphens from twenty-one to ninety-nine:
// "one hundred five thousand two hundred ninety-nine".
std::string english_number(std::uint32_t number);
// French in the traditional spelling (before the rectifications of 1990): hyphens below a hundred
// only and not beside "et"; "vingt et un", "soixante et onze", but "quatre-vingt-un" and
// "quatre-vingt-onze"; "vingt" and "cent" take an s when multiplied and last, hence not before
// "mille", which never takes one: "deux cents", "deux cent mille", "quatre-vingts", "quatre-vingt
// mille". "mille" without "un" before it.
std::string french_number(std::uint32_t number);

// Whether a number is one to train on or one to test with, about one in ten; no number is both. A
// hash of the number decides, but zero and a million, whose words no other number has, are for
// training.
Split split_of_number(std::uint32_t number) noexcept;

// The number of pair `index`: drawn with one to six digits, longer ones more often, or a million
// (one in 256); then the next one that is of this split. Depends on random's seed, split and index
// alone.
std::uint32_t drawn_number(std::size_t index, Split split, const RandomBits& random);

// `size` pairs of the same number in English and French, hyphenated words being one word each, so
// that nothing need be downloaded. Throws DataError when the size is 0.
ParallelText numbers_text(std::size_t size, Split split, const RandomBits& random);

}  // namespace skyline
