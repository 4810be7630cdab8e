#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// Blocks that a picture fills with one colour.
struct PictureKind {
  std::string colour;  // its class
  std::string name;    // in the legend
  std::vector<std::size_t> blocks = {};
};

// One for each category where the trace has tags; else classes of sizes, `rounded` bytes of each
// block, which are not empty. Some kinds may have no blocks.
std::vector<PictureKind> picture_kinds(const Trace& trace,
                                       const std::vector<std::uint64_t>& rounded);

// The style sheet of a picture, light and dark. A block of kind colour "k1" has class k1, a label
// on it k1t.
extern const std::string_view kPictureStyle;

}  // namespace skyline
