#include "train/labs/exercises/exercises.h"

namespace skyline {

// Begins with the parameters.
GptBytes bytes_exercise(const GptNumbers& n) {
  constexpr std::int64_t kBytes = 4;  // of a number
  const std::int64_t c = n.units;
  const std::int64_t block = 4 * c /* ln_1, ln_2 */ + (3 * c * c + 3 * c) /* c_attn */ +
                             (c * c + c) /* attn.c_proj */ + (4 * c * c + 4 * c) /* c_fc */ +
                             (4 * c * c + c) /* mlp.c_proj */;
  const std::int64_t parameters =
      n.words * c + n.positions * c + n.layers * block + 2 * c /* ln_f */;
  return {.parameters = kBytes * parameters};
}

}  // namespace skyline
