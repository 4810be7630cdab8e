#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyline {

// The command line asks for something impossible; what() is one sentence for the user. The program
// prints it and exits with 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns the fewest insertions, deletions, substitutions and swaps of neighbours that turn one
// word into the other (optimal string alignment), in bytes, ignoring case. O(|a| · |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the known name at the smallest distance from `name`, the first of equals. Returns nothing
// if more than a third of the longer word (and more than 1 byte) would have to change, unless one
// word begins with the other.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known);

// "unknown model 'lenett'; did you mean 'lenet'?", or all known names if none is near:
// "unknown model 'x'; known are: lenet, mlp".
std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> known);

}  // namespace skyline
