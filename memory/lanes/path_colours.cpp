#include "memory/lanes/path_colours.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace skyline {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Returns the ops of a longest path through ops without a colour, last first; of equal paths the
// one through ops that come earlier in the program.
std::vector<OpId> longest_path(const StepEdges& edges, const std::vector<std::uint32_t>& colours) {
  std::vector<std::size_t> length(edges.size());
  std::vector<std::optional<OpId>> via(edges.size());
  std::optional<OpId> last;
  for (OpId op = 0; op < edges.size(); ++op) {
    if (colours[op] != kNone) continue;
    length[op] = 1;
    for (const OpId before : edges[op]) {
      if (colours[before] != kNone || length[before] < length[op]) continue;
      length[op] = length[before] + 1;
      via[op] = before;
    }
    if (!last || length[op] > length[*last]) last = op;
  }
  std::vector<OpId> path;
  for (std::optional<OpId> op = last; op; op = via[*op]) path.push_back(*op);
  return path;
}

}  // namespace

std::vector<std::uint32_t> path_colours(const StepEdges& edges) {
  std::vector<std::uint32_t> colours(edges.size(), kNone);
  for (std::uint32_t colour = 0;; ++colour) {
    const std::vector<OpId> path = longest_path(edges, colours);
    if (path.empty()) return colours;
    for (const OpId op : path) colours[op] = colour;
  }
}

}  // namespace skyline
