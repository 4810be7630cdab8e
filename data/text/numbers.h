#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "data/host.h"
#include "data/text/parallel_text.h"

namespace skyline {

inline constexpr std::uint32_t kLargestNumber = 1'000'000;

// Both spell a number up to kLargestNumber; larger numbers throw DataError.
// American English without "and", with hyphens from twenty-one to ninety-nine: "one hundred five
// thousand two hundred ninety-nine".
std::string english_number(std::uint32_t number);
// Traditional French spelling (before the rectifications of 1990). Hyphens appear below a hundred
// only, and not beside "et": "vingt et un", "soixante et onze", but "quatre-vingt-un" and
// "quatre-vingt-onze". "vingt" and "cent" take an s when multiplied and last, so not before
// "mille": "deux cents", "deux cent mille", "quatre-vingts", "quatre-vingt mille". "mille" never
// takes an s and has no "un" before it.
std::string french_number(std::uint32_t number);

// Returns the split of a number: a hash puts about one number in ten into the test split. Zero and
// a million are always for training, because no other number contains their words.
Split split_of_number(std::uint32_t number) noexcept;

// Returns the number of pair `index`. It has one to six digits, more digits being more likely, or
// is a million (one in 256), and then moves on to the next number of this split. It depends only on
// random's seed, split and index.
std::uint32_t drawn_number(std::size_t index, Split split, const RandomBits& random);

// Makes a text that needs no download: `size` pairs of a number in English and French, those of the
// test split with their lines. A hyphenated word is one word. Throws DataError when the size is 0.
ParallelText numbers_text(std::size_t size, Split split, const RandomBits& random);

}  // namespace skyline
