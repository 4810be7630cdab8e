#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace skyline {

// The fewest insertions, deletions, substitutions and swaps of neighbours that turn one word into
// the other (optimal string alignment), counted in bytes; letters compare without case.
// O(|a| · |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name that `name` most likely stands for: the smallest distance, the first of equals;
// none when more than a third of the longer word (and more than 1) would have to change, unless one
// word begins with the other.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known);

// "unknown model 'lenett'; did you mean 'lenet'?", or the list of known names when none is near:
// "unknown model 'x'; known are: lenet, mlp".
std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> known);

}  // namespace skyline
