#include "memory/lanes/antichain.h"

#include <algorithm>
#include <optional>

#include "memory/order/search/max_flow.h"

namespace skyline {
namespace {

// Returns, for each thing, those before it without one between: the others follow from them.
std::vector<std::vector<std::size_t>> nearest_before(const Conflicts& conflicts) {
  std::vector<std::vector<std::size_t>> nearest(conflicts.size());
  std::vector<std::uint64_t> open;  // bits: not known to come before a nearer thing
  for (std::size_t late = 0; late < conflicts.size(); ++late) {
    open.assign((late + 63) / 64, ~std::uint64_t{0});
    for (std::size_t early = late; early-- > 0;) {
      if (conflicts.conflict(early, late) || (open[early / 64] >> (early % 64) & 1) == 0) continue;
      nearest[late].push_back(early);
      const std::span<const std::uint64_t> row = conflicts.row(early);
      for (std::size_t word = 0; word <= early / 64; ++word) open[word] &= row[word];
    }
  }
  return nearest;
}

constexpr std::uint32_t kNoPath = std::numeric_limits<std::uint32_t>::max();

// Returns the ops of a longest path through ops without a colour, last first; of equal paths the
// one through ops that come earlier in the program.
std::vector<OpId> longest_path(const StepEdges& edges, const std::vector<std::uint32_t>& colours) {
  std::vector<std::size_t> length(edges.size());
  std::vector<std::optional<OpId>> via(edges.size());
  std::optional<OpId> last;
  for (OpId op = 0; op < edges.size(); ++op) {
    if (colours[op] != kNoPath) continue;
    length[op] = 1;
    for (const OpId before : edges[op]) {
      if (colours[before] != kNoPath || length[before] < length[op]) continue;
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

// Each thing is a node that offers its weight to what comes after, and a node that takes as much
// from what comes before. What flows joins chains, so the weight that takes nothing begins them.
Antichain heaviest_antichain(const Conflicts& conflicts, std::span<const std::uint64_t> weights) {
  const auto things = static_cast<MaxFlow::Node>(conflicts.size());
  const auto offers = [](MaxFlow::Node thing) { return 2 * thing; };
  const auto takes = [](MaxFlow::Node thing) { return 2 * thing + 1; };
  const MaxFlow::Node source = 2 * things, sink = source + 1;
  const std::vector<std::vector<std::size_t>> nearest = nearest_before(conflicts);
  MaxFlow flow;
  flow.reset(std::size_t{sink} + 1);
  for (MaxFlow::Node thing = 0; thing < things; ++thing) {
    flow.add_arc(source, offers(thing), weights[thing]);
    flow.add_arc(takes(thing), sink, weights[thing]);
    flow.add_arc(takes(thing), offers(thing), MaxFlow::kUnlimited);  // on to what comes later
    for (const std::size_t before : nearest[thing]) {
      flow.add_arc(offers(static_cast<MaxFlow::Node>(before)), takes(thing), MaxFlow::kUnlimited);
    }
  }
  flow.run(source, sink);
  Antichain heaviest;
  for (MaxFlow::Node thing = 0; thing < things; ++thing) {
    if (!flow.on_source_side(offers(thing)) || flow.on_source_side(takes(thing))) continue;
    heaviest.weight += weights[thing];
    heaviest.members.push_back(thing);
  }
  return heaviest;
}

PathColours path_colours(const StepEdges& edges, std::size_t most) {
  PathColours colours{.of_op = std::vector<std::uint32_t>(edges.size(), kNoPath), .paths = 0};
  for (; colours.paths < most; ++colours.paths) {
    const std::vector<OpId> path = longest_path(edges, colours.of_op);
    if (path.empty()) return colours;
    for (const OpId op : path) colours.of_op[op] = colours.paths;
  }
  std::ranges::replace(colours.of_op, kNoPath, colours.paths);
  return colours;
}

}  // namespace skyline
